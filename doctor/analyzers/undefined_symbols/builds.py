"""Fixes for a file that was built against another build of a common C++ library."""

from __future__ import annotations

import re

from doctor.analyzers.case import Case
from doctor.analyzers.machine import is_conda
from doctor.analyzers.recipes import LINUX, by_system, code
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe, Snippet

_CONDA = {
    "glog": "glog",
    "gflags": "gflags",
    "protobuf": "libprotobuf",
    "Boost": "boost",
    "Boost.Python": "boost",
    "OpenCV": "opencv",
    "HDF5": "hdf5",
}
_APT = {
    "glog": "libgoogle-glog-dev",
    "gflags": "libgflags-dev",
    "protobuf": "libprotobuf-dev",
    "Boost": "libboost-all-dev",
    "Boost.Python": "libboost-python-dev",
    "OpenCV": "libopencv-dev",
    "HDF5": "libhdf5-dev",
}
_OF_C = {
    "libjpeg": "libjpeg-turbo",
    "libtiff": "libtiff",
    "libpng": "libpng",
    "libwebp": "libwebp-base",
    "OpenSSL": "openssl",
    "libffi": "libffi",
    "SQLite": "sqlite",
    "zstd": "zstd",
    "bzip2": "bzip2",
    "liblzma": "xz",
    "zlib": "libzlib",
    "expat": "libexpat",
    "GLib": "glib",
    "ICU": "icu",
    "FFmpeg": "ffmpeg",
    "readline": "readline",
    "ncurses (libtinfo)": "ncurses",
    "libcurl": "libcurl",
    "libxml2": "libxml2",
    "libarchive": "libarchive",
    "Kerberos": "krb5",
    "libgfortran": "libgfortran5",
    "libgomp": "libgomp",
}
"""Packages of conda-forge for common libraries of C."""
_LIBRARY_FILE = re.compile(r"(?:^|/)(lib[a-z][\w+-]{1,40}?)\.so\b")
_NEW_STRING = ("B5cxx11", "7__cxx11")
"""What the name of a symbol of libstdc++'s new strings holds, as GCC has them since 5.1.

https://gcc.gnu.org/onlinedocs/libstdc++/manual/using_dual_abi.html
"""
_PYTHON_3 = "PyModuleDef"

OF_VISUAL_STUDIO = Recipe(
    title="Hand the linker all libraries of that same libtorch",
    use_if=("a project of Visual Studio builds it",),
    note="Include folders and libraries have to be of one libtorch, and of its Debug or its "
    "Release build like the project. torch_cuda.lib and c10_cuda.lib come in addition for CUDA.",
    snippet=Snippet(
        where="Linker, Input, Additional Dependencies; the folder is libtorch\\lib",
        after="c10.lib;torch.lib;torch_cpu.lib;%(AdditionalDependencies)",
    ),
)


def _one_channel(event: Event, name: str) -> Recipe:
    """Return the recipe that takes two libraries of a conda environment from one channel."""
    found = _LIBRARY_FILE.search(event.objects.get("file", ""))
    asking = found[1] if found and found[1] in _OF_C.values() else ""
    return Recipe(
        title=f"Take {name}{f' and {asking}' if asking else ''} from conda-forge together",
        note="Libraries of two channels, or one of pip beside conda's, are built against different "
        "releases. Start a new shell without LD_LIBRARY_PATH where it names another folder.",
        steps=(
            Action(
                run=(
                    *("conda", "install", "-p", "{python.conda|<environment>}", "-y"),
                    *(
                        "-c",
                        "conda-forge",
                        *dict.fromkeys(one for one in (_OF_C[name], asking) if one),
                    ),
                )
            ),
        ),
        ask={"environment": "the folder of the conda environment"},
    )


def built_with_other(case: Case, event: Event, name: str, symbol: str) -> tuple[Recipe, ...]:
    """Return the fixes for a library of another build than the file was compiled against."""
    if name in _OF_C and is_conda(case, event):
        return (_one_channel(event, name),)
    if name not in _CONDA:
        return ()
    if name == "Boost.Python" and _PYTHON_3 in symbol:
        return (
            code(
                "Link the Boost.Python of Python 3, and build anew",
                "Makefile.config, or the list of libraries of the build",
                "PYTHON_LIBRARIES := boost_python3 python3.6m",
                before="PYTHON_LIBRARIES := boost_python python2.7",
                note="The file is called libboost_python3.so, libboost_python-py36.so or "
                "libboost_python36.so, by its distribution: ls /usr/lib/x86_64-linux-gnu | grep "
                "boost_python. The number is that of the Python which imports it.",
            ),
        )
    strings = (
        " The symbol has the new strings of GCC 5; a library built by an older GCC, or with "
        "_GLIBCXX_USE_CXX11_ABI=0, has none of these."
        if any(mark in symbol for mark in _NEW_STRING)
        else ""
    )
    if is_conda(case, event):
        return (
            Recipe(
                title=f"Take the program and {name} from one channel",
                note=f"Packages of two channels are built by two compilers.{strings}",
                steps=(
                    Action(
                        run=(
                            "conda",
                            "install",
                            "--override-channels",
                            "-c",
                            "conda-forge",
                            _CONDA[name],
                            "<package>",
                        )
                    ),
                ),
                ask={"package": "the package that fails to load, such as caffe"},
            ),
        )
    return (
        by_system(
            f"Install {name} of the system, and build the failing file anew against it",
            apt=(_APT[name],),
            use_if=(LINUX,),
            note="Remove the build folder first, and no second copy of the library may come "
            f"before it.{strings}",
        ),
    )
