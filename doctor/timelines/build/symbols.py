"""Make `doctor/timelines/data/symbols.bin` from the wheels of an index.

Run as `python -m doctor.timelines.build.symbols`. The index is the one that pip and uv use. What
was read of a wheel stays in a folder, so that a later run reads new releases only.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from zipfile import ZipFile, ZipInfo

from packaging.version import InvalidVersion, Version

from doctor.timelines.build.encoding import Library, encoded
from doctor.timelines.build.wheel_symbols import Exported, exported

_DATA = Path(__file__).parent.parent / "data" / "symbols.bin"
_INDEX = ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")
_LARGEST = 400 << 20
"""Compressed bytes of a library that is read to its end."""
_HUGE = "libtorch_cuda"
"""Libraries that are read for one release of each minor version; the others are like it."""
_READ, _LIKE_OTHERS, _UNREAD = "read", "unread-huge", "unread"


class Source(NamedTuple):
    """A package of the timeline, and the distributions that bring it.

    `libraries` are names without `lib` and `.so`; those that end with a star only begin so.
    """

    package: str
    distributions: tuple[str, ...]
    libraries: tuple[str, ...]
    since: str = "0"
    every_release: bool = False

    def has(self, member: str) -> bool:
        """Say whether a file of a wheel is one of the libraries."""
        stem, dot, _ = PurePosixPath(member).name.partition(".so")
        return bool(dot) and any(
            stem.startswith(f"lib{name[:-1]}") if name.endswith("*") else stem == f"lib{name}"
            for name in self.libraries
        )


def _nvidia(package: str, name: str, *libraries: str, of: tuple[str, ...]) -> Source:
    return Source(package, tuple(f"nvidia-{name}{generation}" for generation in of), libraries)


_CUDA = ("-cu11", "-cu12", "")
_OWN = ("-cu11", "-cu12", "-cu13")
SOURCES = (
    Source(
        "torch",
        ("torch",),
        ("c10", "c10_cuda", "torch", "torch_cpu", "torch_cuda*", "torch_python", "caffe2_nvrtc"),
        since="1.13",
        every_release=True,
    ),
    _nvidia("cudart", "cuda-runtime", "cudart", of=_CUDA),
    _nvidia("nvrtc", "cuda-nvrtc", "nvrtc", of=_CUDA),
    _nvidia("cupti", "cuda-cupti", "cupti", of=_CUDA),
    _nvidia("cublas", "cublas", "cublas", "cublasLt", "nvblas", of=_CUDA),
    _nvidia("cufft", "cufft", "cufft", "cufftw", of=_CUDA),
    _nvidia("curand", "curand", "curand", of=_CUDA),
    _nvidia("cusolver", "cusolver", "cusolver", "cusolverMg", of=_CUDA),
    _nvidia("cusparse", "cusparse", "cusparse", of=_CUDA),
    _nvidia("nvjitlink", "nvjitlink", "nvJitLink", of=("-cu12", "")),
    # The other parts have hundreds of megabytes, and export almost nothing but to each other.
    _nvidia("cudnn", "cudnn", "cudnn", "cudnn_ops*", "cudnn_graph", "cudnn_ext", of=_OWN),
    _nvidia("nccl", "nccl", "nccl", of=_OWN),
    _nvidia("cusparselt", "cusparselt", "cusparseLt", of=_OWN),
    _nvidia("nvshmem", "nvshmem", "nvshmem_host", of=_OWN),
)


class Wheel(NamedTuple):
    """A wheel of a release, under the name that the timeline gives the release."""

    release: str
    version: Version
    distribution: str
    url: str


def wheels(source: Source) -> Iterator[Wheel]:
    """Yield one wheel for each release of a package, in the order of the releases.

    Of NVIDIA's packages, the last patch of each minor version.
    """
    from pypi_simple import NoSuchProjectError, PyPISimple

    endpoint = next((url for name in _INDEX if (url := os.environ.get(name))), "")
    found: dict[str, Wheel] = {}
    with PyPISimple(endpoint) if endpoint else PyPISimple() as index:
        for name in source.distributions:
            try:
                files = index.get_project_page(name).packages
            except NoSuchProjectError:
                continue
            for file in files:
                if (
                    file.package_type == "wheel"
                    and not file.is_yanked
                    and (version := _version(file.version)) is not None
                    and version >= Version(source.since)
                    and "linux" in file.filename
                    and file.filename.endswith("x86_64.whl")
                    and "t-" not in file.filename  # for a Python without the GIL
                ):
                    release = _release(version, source)
                    wheel = Wheel(release, version, name, file.url)
                    old = found.get(release)
                    if old is None or (old.distribution == name and old.version < version):
                        found[release] = wheel
    yield from sorted(found.values(), key=lambda wheel: wheel.version)


def _version(text: str | None) -> Version | None:
    try:
        version = Version(text or "")
    except InvalidVersion:
        return None
    return None if version.is_prerelease else version


def _release(version: Version, source: Source) -> str:
    return str(version) if source.every_release else f"{version.major}.{version.minor}"


def _read(wheel: Wheel, source: Source, cache: Path, *, huge: bool) -> Path:
    """Read what the libraries of a wheel export into a folder, and return the folder."""
    from remotezip import RemoteZip

    folder = cache / f"{wheel.distribution}-{wheel.version}"
    listing = folder / "libraries.json"
    if listing.exists() and not (huge and _LIKE_OTHERS in listing.read_text(encoding="utf-8")):
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    states: dict[str, str] = {}
    with RemoteZip(wheel.url) as archive:
        for member in archive.infolist():
            name = member.filename.rpartition("/")[2]
            if not source.has(member.filename):
                continue
            path = folder / f"{name}.gz"
            if name.startswith(_HUGE) and member.compress_size > _LARGEST and not huge:
                states[name] = _LIKE_OTHERS
                continue
            if not path.exists():
                one = _exported(archive, member)
                if one is not None:
                    path.write_bytes(gzip.compress(json.dumps(one._asdict()).encode(), mtime=0))
            states[name] = _READ if path.exists() else _UNREAD
    listing.write_text(json.dumps(states), encoding="utf-8")
    return folder


def _exported(archive: ZipFile, member: ZipInfo) -> Exported | None:
    """Return what a library exports; None where its tables stand at the end of a large file."""
    # The tables of torch's libraries were moved to their ends.
    if not member.filename.startswith("torch/"):
        with archive.open(member) as stream:
            one = exported(stream, whole=False)
        if one is not None or member.compress_size > _LARGEST:
            return one
    with archive.open(member) as stream:
        return exported(stream, whole=True)


def _libraries(wheel: Wheel, source: Source, cache: Path, last: Wheel) -> Iterator[Library]:
    """Yield what each library of a wheel exports; `last` is the last one of its minor version."""
    folder = _read(wheel, source, cache, huge=wheel == last)
    states = json.loads((folder / "libraries.json").read_text(encoding="utf-8"))
    for name, state in states.items():
        if not source.has(name):
            continue
        one = None
        if state != _UNREAD:
            like = _read(last, source, cache, huge=True) if state == _LIKE_OTHERS else folder
            one = Exported(**json.loads(gzip.decompress((like / f"{name}.gz").read_bytes())))
        yield Library(
            source.package, wheel.release, f"{wheel.distribution} {wheel.version}", name, one
        )


def collected(packages: Sequence[str], cache: Path) -> Iterator[Library]:
    """Yield what the libraries of every release of these packages export."""
    for source in SOURCES:
        if packages and source.package not in packages:
            continue
        releases = list(wheels(source))
        last = {wheel.version.release[:2]: wheel for wheel in releases}
        for wheel in releases:
            print(f"{source.package} {wheel.version}", file=sys.stderr, flush=True)  # noqa: T201
            yield from _libraries(wheel, source, cache, last[wheel.version.release[:2]])


def main() -> None:
    """Read the wheels and write the data."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--cache", type=Path, default=Path(".timelines"), help="folder to read into"
    )
    parser.add_argument("--output", type=Path, default=_DATA)
    parser.add_argument("packages", nargs="*", help="these packages only, for a trial")
    options = parser.parse_args()
    data = encoded(collected(options.packages, options.cache), date.today().isoformat())
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_bytes(data)


if __name__ == "__main__":
    main()
