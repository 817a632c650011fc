"""Write for which Pythons and systems the releases of well-known compiled packages have wheels.

    python -m doctor.timelines.build.wheel_tags [DISTRIBUTION …]

Read are the names of the files on the project's page of the package index, one page a package. It
needs the extra `timelines`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections.abc import Iterable, Sequence

import requests
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from doctor.timelines.build.name_sources import Index
from doctor.timelines.wheels import FILE, NEWEST, SYSTEMS

_PACKAGES = """
aiohttp annoy argon2-cffi-bindings array-record asyncpg av bcrypt blis bottleneck box2d-py catboost
cffi chroma-hnswlib clickhouse-driver contourpy cramjam cryptography ctranslate2 cvxpy cymem
debugpy decord dependency-injector dm-tree duckdb ecos editdistance faiss-cpu fasttext fiona
frozenlist gensim gevent greenlet grpcio grpcio-tools h5py hdbscan httptools jaxlib
kiwisolver levenshtein lightgbm llvmlite lxml lz4 markupsafe matplotlib mediapipe mpi4py msgpack
mujoco multidict murmurhash mysqlclient ndindex netcdf4 nmslib numba numcodecs numexpr numpy
onnx onnxruntime onnxsim open3d opencv-contrib-python opencv-python opencv-python-headless
orjson osqp paddlepaddle pandas pillow polars preshed propcache psutil psycopg2
psycopg2-binary pyarrow pybullet pycocotools pycryptodome pydantic-core pygame pymongo pymssql
pymupdf pynacl pyproj pyqt5 pyrsistent pystemmer python-snappy pywavelets pyworld pyyaml pyzmq
rapidfuzz rasterio ray regex rpds-py ruamel-yaml-clib safetensors scikit-image scikit-learn scipy
scs sentencepiece setproctitle shapely simplejson soxr spacy srsly statsmodels tables
tensorflow tensorflow-addons tensorflow-io tensorflow-text tensorstore thinc thriftpy2 tiktoken
tokenizers torchdata triton ujson uvloop vtk watchfiles websockets wordcloud wrapt xgboost
xxhash yarl zstandard
"""
Runs = list[tuple[str, dict[str, list[int]]]]


def runs(names: Iterable[str]) -> Runs:
    """Return the runs of releases with the same wheels, oldest first, from the names of files."""
    found: dict[Version, dict[str, set[int]]] = {}
    for name in names:
        try:
            _, version, _, tags = parse_wheel_filename(name)
        except (InvalidWheelFilename, InvalidVersion):
            continue
        if version.is_prerelease:
            continue
        there = found.setdefault(version, {})
        for tag in tags:
            for system in systems_of(tag.platform):
                there.setdefault(system, set()).update(_minors(tag.interpreter, tag.abi))
    ordered: Runs = []
    for version, systems in sorted(found.items()):
        row = {one: sorted(systems[one]) for one in SYSTEMS if systems.get(one)}
        if not row:
            continue
        if ordered and ordered[-1][1] == row:
            ordered[-1] = (f"{ordered[-1][0]} {version}", row)
        else:
            ordered.append((str(version), row))
    return ordered


def systems_of(platform: str) -> tuple[str, ...]:
    """Return the systems and processors of a platform tag, as the data write them."""
    if platform == "any":
        return SYSTEMS
    if "linux" in platform and not platform.startswith("musllinux"):
        name = "linux"
    elif platform == "win_amd64":
        return ("windows-x86_64",)
    elif platform.startswith("macosx"):
        name = "macos"
    else:
        return ()
    if platform.endswith("universal2"):
        return (f"{name}-arm64", f"{name}-x86_64")
    if platform.endswith(("arm64", "aarch64")):
        return (f"{name}-arm64",)
    return (f"{name}-x86_64",) if platform.endswith("x86_64") else ()


def _minors(interpreter: str, abi: str) -> Iterable[int]:
    """Return the minor releases of Python 3 that take a tag; abi3 is for all later ones."""
    if abi == "none" and interpreter.startswith("py"):
        return range(7, NEWEST + 1)
    digits = interpreter.removeprefix("cp")
    if interpreter == digits or not digits.startswith("3") or abi.endswith("t"):
        return ()
    minor = int(digits[1:] or 0)
    return range(max(minor, 7), NEWEST + 1) if abi == "abi3" else (minor,)


def main(arguments: Sequence[str] | None = None) -> None:
    """Build the data of some distributions, or of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("distributions", nargs="*", help="only these; default: all")
    options = parser.parse_args(arguments)
    data = json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {"packages": {}}
    client = Index().client
    for name in sorted(options.distributions or _PACKAGES.split()):
        try:
            page = client.get_project_page(name)
        except requests.RequestException as error:
            sys.stderr.write(f"{name}: {error}\n")
            continue
        found = runs(one.filename for one in page.packages if one.package_type == "wheel")
        sys.stderr.write(f"{name}: {len(found)} runs\n")
        data["packages"][name] = found
    _write(data["packages"])


def _write(packages: dict[str, Runs]) -> None:
    """Write the runs of each package, one package in a line."""
    read = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    rows = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(each, separators=(',', ':'))}"
        for name, each in sorted(packages.items())
    )
    FILE.write_text(f'{{"read": "{read}", "packages": {{\n{rows}\n}}}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
