"""Write what the releases of well-known packages ask of each other.

    python -m doctor.timelines.build.requirements [DISTRIBUTION …]

Read are the METADATA that the package index serves beside its wheels (PEP 658), or those within the
wheel. It needs the extra `timelines`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from email.parser import HeaderParser

import requests
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version
from pypi_simple import DistributionPackage, NoMetadataError, PyPISimple
from pypi_simple.errors import UnsupportedContentTypeError

from doctor.base.errors import DoctorError
from doctor.timelines.build.name_packages import COVERED
from doctor.timelines.build.name_sources import Index
from doctor.timelines.build.wheels import read_members
from doctor.timelines.requirements import FILE

_MORE = (
    *("tensorflow-intel", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-macos", "triton-windows"),
    *("tensorflow-text", "tensorflow-probability", "jax-cuda12-plugin", "jax-cuda12-pjrt"),
    *("flashinfer-python", "torchcodec", "torchtext", "onnxruntime-gpu", "opencv-python-headless"),
    *("opencv-contrib-python", "xfuser", "mamba-ssm", "causal-conv1d", "nemo-toolkit", "coqui-tts"),
    *("mediapipe", "cupy-cuda12x", "cudf-cu12", "paddlepaddle-gpu", "paddleocr", "mxnet", "tts"),
    *("vllm-flash-attn", "bertopic", "setfit", "sentence-transformers", "speechbrain", "whisperx"),
    *("inference-gpu", "langchain-community", "langchain-openai", "chromadb", "docling", "easyocr"),
    *("insightface", "super-gradients", "monai", "rfdetr", "ultralytics-thop", "supervision"),
    *("autogluon-core", "neuralforecast", "pytorch-forecasting", "tsfresh", "pandas-profiling"),
)
_WHEELS = frozenset({"wheel"})
_REFUSED = (requests.RequestException, OSError, ValueError, DoctorError)
_WORKERS = 8


def collect(index: Index, name: str, known: frozenset[str]) -> list[tuple[str, list[str]]]:
    """Return the runs of releases that ask for the same: the releases with blanks, and what for.

    Only requirements of `known` packages with a bound count, and none of an extra. Releases that
    were taken back count as well: people have them.
    """
    files: dict[Version, DistributionPackage] = {}
    for one in index.client.get_project_page(name).packages:
        version = _version(one.version)
        if version is None or one.package_type not in _WHEELS:
            continue
        if version not in files or _rank(one) < _rank(files[version]):
            files[version] = one
    ordered = sorted(files)
    with ThreadPoolExecutor(_WORKERS) as workers:
        read = list(workers.map(lambda each: _asked(index.client, files[each], known), ordered))
    runs: list[tuple[str, list[str]]] = []
    for version, asked in zip(ordered, read, strict=True):
        if asked is None:
            continue
        if runs and runs[-1][1] == asked:
            runs[-1] = (f"{runs[-1][0]} {version}", asked)
        else:
            runs.append((str(version), asked))
    return runs


def _version(text: str | None) -> Version | None:
    try:
        version = Version(text or "")
    except InvalidVersion:
        return None
    return None if version.is_prerelease else version


def _rank(file: DistributionPackage) -> tuple[bool, bool, bool, str]:
    name = file.filename
    linux = "manylinux" in name and "x86_64" in name
    return (
        not (name.endswith("-any.whl") or linux),
        not file.has_metadata,
        "-cp311-" not in name,
        name,
    )


def _asked(
    client: PyPISimple, file: DistributionPackage, known: frozenset[str]
) -> list[str] | None:
    """Return the requirements of a wheel, sorted; None where its METADATA cannot be read."""
    try:
        text = _metadata(client, file)
    except _REFUSED as error:
        sys.stderr.write(f"{file.filename}: {error}\n")
        return None
    lines = HeaderParser().parsestr(text).get_all("Requires-Dist") or []
    return sorted({line for one in lines if (line := _line(one, known))})


def _metadata(client: PyPISimple, file: DistributionPackage) -> str:
    try:
        if file.has_metadata:
            return client.get_package_metadata(file, verify=False)
    except (NoMetadataError, UnsupportedContentTypeError, UnicodeDecodeError):
        pass
    return next(iter(read_members(file.url, [".dist-info/METADATA"]).values()), "")


def _line(text: str, known: frozenset[str]) -> str:
    try:
        found = Requirement(text)
    except InvalidRequirement:
        return ""
    name = canonicalize_name(found.name)
    marker = str(found.marker or "").replace('"', "'")
    if name not in known or not found.specifier or "extra" in marker:
        return ""
    bounds = ",".join(sorted(map(str, found.specifier)))
    return f"{name}{bounds}" + (f";{marker}" if marker else "")


def main(arguments: Sequence[str] | None = None) -> None:
    """Build the data of some distributions, or of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("distributions", nargs="*", help="only these; default: all")
    options = parser.parse_args(arguments)
    everything = {*(one.distribution for one in COVERED), *_MORE}
    known = frozenset(map(canonicalize_name, everything))
    data = json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {"packages": {}}
    index = Index()
    for name in sorted(options.distributions or known):
        try:
            runs = collect(index, name, known)
        except _REFUSED as error:
            sys.stderr.write(f"{name}: {error}\n")
            continue
        sys.stderr.write(f"{name}: {len(runs)} runs\n")
        if any(asked for _, asked in runs):
            data["packages"][name] = runs
    write(data["packages"])


def write(packages: dict[str, Iterable[tuple[str, list[str]]]]) -> None:
    """Write the runs of each package, one package in a line."""
    read = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    rows = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(runs, separators=(',', ':'))}"
        for name, runs in sorted(packages.items())
    )
    text = f'{{"read": "{read}", "packages": {{\n{rows}\n}}}}\n'
    FILE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
