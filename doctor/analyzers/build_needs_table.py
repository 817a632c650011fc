"""What well-known packages need where they are compiled, for logs that show only that it failed."""

from __future__ import annotations

from typing import NamedTuple


class Need(NamedTuple):
    """What a package needs to be built, and what spares the build.

    `apt`, `dnf` and `brew` are packages of the system, with blanks; `pip` is installed before the
    build. `instead` is a distribution with wheels and the same import, `conda` its name on
    conda-forge; `successor` is what its makers continue, under an import of its own.
    """

    what: str
    apt: str = ""
    dnf: str = ""
    brew: str = ""
    pip: str = ""
    instead: str = ""
    successor: str = ""
    conda: str = ""


_COMPILER = {"apt": "build-essential python3-dev", "dnf": "gcc-c++ python3-devel"}
NEEDS = {
    "annoy": Need("a C++ compiler", conda="python-annoy", **_COMPILER),
    "atari-py": Need("CMake and zlib", "cmake zlib1g-dev", "cmake zlib-devel", successor="ale-py"),
    "box2d": Need("SWIG and a C++ compiler", pip="swig", conda="pybox2d", **_COMPILER),
    "box2d-py": Need("SWIG and a C++ compiler", pip="swig", conda="pybox2d", **_COMPILER),
    "cupy": Need("nvcc and the headers of the CUDA toolkit", instead="cupy-cuda12x", conda="cupy"),
    "ctc-segmentation": Need("a C compiler", **_COMPILER),
    "dlib": Need(
        "CMake and a C++ compiler",
        "build-essential cmake libopenblas-dev python3-dev",
        "gcc-c++ cmake openblas-devel python3-devel",
        "cmake",
        conda="dlib",
    ),
    "evdev": Need(
        "the headers of the kernel and of Python",
        "linux-libc-dev python3-dev gcc",
        "kernel-headers python3-devel gcc",
    ),
    "fasttext": Need("a C++ compiler", instead="fasttext-wheel", conda="fasttext", **_COMPILER),
    "fiona": Need("GDAL", "libgdal-dev gdal-bin", "gdal-devel", "gdal", conda="fiona"),
    "gdal": Need(
        "the library GDAL in the same release",
        "libgdal-dev gdal-bin",
        "gdal-devel",
        "gdal",
        conda="gdal",
    ),
    "hnswlib": Need("a C++ compiler", conda="hnswlib", **_COMPILER),
    "insightface": Need("a C++ compiler", pip="cython numpy", conda="insightface", **_COMPILER),
    "kenlm": Need(
        "CMake, Boost and a C++ compiler",
        "build-essential cmake libboost-all-dev zlib1g-dev libbz2-dev liblzma-dev",
        "gcc-c++ cmake boost-devel zlib-devel bzip2-devel xz-devel",
        "cmake boost",
        conda="kenlm",
    ),
    "madmom": Need("a C compiler, Cython and NumPy", pip="cython numpy", **_COMPILER),
    "mpi4py": Need(
        "MPI with its compiler mpicc",
        "libopenmpi-dev openmpi-bin",
        "openmpi-devel",
        "open-mpi",
        conda="mpi4py",
    ),
    "mujoco-py": Need(
        "MuJoCo 2.1 in ~/.mujoco, OSMesa, patchelf and a Cython before 3",
        "libosmesa6-dev libgl1-mesa-dev libglfw3 patchelf gcc",
        "mesa-libOSMesa-devel mesa-libGL-devel glfw patchelf gcc",
        pip="cython<3",
        successor="mujoco",
    ),
    "mysqlclient": Need(
        "MySQL's client library with headers",
        "default-libmysqlclient-dev pkg-config build-essential",
        "mysql-devel pkgconf gcc",
        "mysql-client pkg-config",
        conda="mysqlclient",
    ),
    "python-ldap": Need(
        "the headers of OpenLDAP and SASL",
        "libldap2-dev libsasl2-dev build-essential python3-dev",
        "openldap-devel cyrus-sasl-devel gcc python3-devel",
        "openldap",
        conda="python-ldap",
    ),
    "netcdf4": Need("HDF5 and netCDF", "libhdf5-dev libnetcdf-dev", conda="netcdf4"),
    "nmslib": Need("a C++ compiler", instead="nmslib-metabrainz", conda="nmslib", **_COMPILER),
    "pesq": Need("a C compiler and NumPy", pip="cython numpy", **_COMPILER),
    "psycopg2": Need(
        "PostgreSQL's client library with headers (pg_config)",
        "libpq-dev gcc python3-dev",
        "libpq-devel gcc python3-devel",
        "libpq",
        instead="psycopg2-binary",
    ),
    "pyaudio": Need(
        "PortAudio with its headers",
        "portaudio19-dev python3-dev gcc",
        "portaudio-devel python3-devel gcc",
        "portaudio",
        conda="pyaudio",
    ),
    "pycairo": Need(
        "cairo with its headers",
        "libcairo2-dev pkg-config python3-dev",
        "cairo-devel pkgconf python3-devel",
        "cairo pkg-config",
        conda="pycairo",
    ),
    "pygobject": Need(
        "GObject introspection and cairo with their headers",
        "libgirepository1.0-dev libcairo2-dev pkg-config gcc",
        "gobject-introspection-devel cairo-gobject-devel pkgconf gcc",
        "pygobject3",
        conda="pygobject",
    ),
    "pygraphviz": Need(
        "Graphviz with its headers",
        "graphviz libgraphviz-dev gcc",
        "graphviz-devel gcc",
        "graphviz",
        conda="pygraphviz",
    ),
    "pyworld": Need("a C++ compiler, Cython and NumPy", pip="cython numpy", **_COMPILER),
    "rasterio": Need("GDAL", "libgdal-dev gdal-bin", "gdal-devel", "gdal", conda="rasterio"),
    "retworkx": Need("the Rust compiler", "cargo", "cargo", "rust", successor="rustworkx"),
    "scikit-sparse": Need(
        "SuiteSparse",
        "libsuitesparse-dev",
        "suitesparse-devel",
        "suite-sparse",
        conda="scikit-sparse",
    ),
    "simpleaudio": Need("ALSA with its headers", "libasound2-dev gcc", "alsa-lib-devel gcc"),
    "sudachipy": Need("the Rust compiler", "cargo", "cargo", "rust"),
    "tables": Need("HDF5", "libhdf5-dev", "hdf5-devel", "hdf5", conda="pytables"),
    "webrtcvad": Need("a C compiler", instead="webrtcvad-wheels", **_COMPILER),
    "xmlsec": Need(
        "libxmlsec1 with its headers",
        "libxmlsec1-dev pkg-config",
        "xmlsec1-devel",
        "libxmlsec1 pkg-config",
    ),
}
"""By normalized name; packages whose newest release has wheels for usual systems stand elsewhere:
what they lack is a wheel for this Python."""
BUILD_TOOLS = {
    "aiohttp": "a C compiler",
    "av": "FFmpeg's libraries with headers",
    "cryptography": "the Rust compiler",
    "grpcio": "a C++ compiler",
    "h5py": "HDF5",
    "lxml": "libxml2 and libxslt with headers",
    "matplotlib": "a C++ compiler and FreeType",
    "numpy": "a C compiler",
    "onnx": "CMake and Protocol Buffers",
    "opencv-python": "CMake and a C++ compiler",
    "orjson": "the Rust compiler",
    "pandas": "a C compiler",
    "pillow": "the headers of its image libraries",
    "pyarrow": "Arrow's C++ libraries",
    "pydantic-core": "the Rust compiler",
    "pyyaml": "an old Cython",
    "safetensors": "the Rust compiler",
    "scikit-learn": "a C++ compiler",
    "scipy": "a Fortran compiler and BLAS",
    "sentencepiece": "CMake and a C++ compiler",
    "tiktoken": "the Rust compiler",
    "tokenizers": "the Rust compiler",
}
"""What the build of a package with wheels needs, where it comes to that."""
_EXTENSIONS = """
chamfer chamferdist curope dcn-v2 dcnv2 deform-attn depth-diff-gaussian-rasterization
diff-gauss diff-surfel-rasterization emd ffmlp freqencoder fused-ssim gridencoder group-norm
iou3d-nms knn-cuda mergenet nattencuda pcdet pointnet2 pointnet2-ops pointops pytorch3d-ops
raymarching roiaware-pool3d rotary-emb selective-scan shencoder spconv-ops submconv
tiny-cuda-nn torch-kmeans torchmcubes torchsparse dropout-layer-norm fused-dense-lib
"""
EXTENSIONS = frozenset(_EXTENSIONS.split())
"""Packages that compile CUDA code against the torch that is installed, and have no wheels."""
