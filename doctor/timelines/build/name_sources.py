"""Fetch the Python sources of releases from the package index that pip is configured for."""

from __future__ import annotations

import io
import os
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator

import requests
from packaging.version import InvalidVersion, Version
from pypi_simple import DistributionPackage, PyPISimple

from doctor.host.access import Host
from doctor.timelines.build.name_files import Member, Release

_WHOLE = 40_000_000
"""A wheel up to this size is downloaded whole: one request is faster than many."""
_GAP = 300_000
_TESTS = re.compile(
    r"^(benchmarks?|examples|docs|scripts|tools)/"
    r"|(^|/)(tests?|testing/_internal|_tests|node_modules|_vendor)/"
    r"|/(test_[^/]*|conftest|[^/]*_test)\.pyi?$"
)
_NATIVE = re.compile(r"/(?!lib)[^/.]+(\.[\w-]+)?\.(so|pyd)$")


class Index:
    """The package index."""

    def __init__(self) -> None:
        address = os.environ.get("PIP_INDEX_URL") or _configured()
        self._client = PyPISimple(address) if address else PyPISimple()
        self._session: requests.Session = self._client.s

    @property
    def client(self) -> PyPISimple:
        """The client of the index's simple API."""
        return self._client

    def releases(
        self, distribution: str, *, since: str, every: int = 1, patches: bool = False
    ) -> list[Release]:
        """Return one file for the last release of each minor line, oldest first."""
        newest: dict[tuple[int, ...], tuple[Version, list[DistributionPackage]]] = {}
        for package in self._client.get_project_page(distribution).packages:
            try:
                version = Version(package.version or "")
            except InvalidVersion:
                continue
            if version.is_prerelease or package.is_yanked or version < Version(since):
                continue
            if package.package_type not in ("wheel", "sdist"):
                continue
            line = version.release[: 3 if patches else 2]
            known = newest.get(line)
            if known is None or version > known[0]:
                newest[line] = (version, [package])
            elif version == known[0]:
                known[1].append(package)
        chosen = [_release(version, files) for _, (version, files) in sorted(newest.items())]
        kept = {*range(0, len(chosen), every), len(chosen) - 1}
        return [each for number, each in enumerate(chosen) if number in kept]

    def members(self, release: Release) -> Iterator[Member]:
        """Yield the Python sources, stubs and native modules of a release."""
        if release.filename.endswith((".tar.gz", ".tgz")):
            yield from _of_archive(self._whole(release))
        elif release.size and release.size > _WHOLE:
            yield from self._of_ranges(release)
        else:
            yield from _of_wheel(self._whole(release))

    def _whole(self, release: Release) -> bytes:
        answer = self._session.get(release.url, timeout=180)
        answer.raise_for_status()
        content: bytes = answer.content
        return content

    def _range(self, url: str, first: int, last: int) -> bytes:
        answer = self._session.get(url, headers={"Range": f"bytes={first}-{last}"}, timeout=180)
        answer.raise_for_status()
        if answer.status_code != requests.codes.partial_content:
            raise OSError(f"no ranges of {url}")
        content: bytes = answer.content
        return content

    def _of_ranges(self, release: Release) -> Iterator[Member]:
        """Read the wanted members of a large wheel, neighbours in one request.

        The layout is that of the ZIP specification, 4.3.7.
        """
        size = release.size
        tail = min(size, 4_000_000)
        end = self._range(release.url, size - tail, size - 1)
        with zipfile.ZipFile(_Tail(end, size)) as archive:
            infos = [each for each in archive.infolist() if _wanted(each.filename)]
        infos.sort(key=lambda each: each.header_offset)
        groups: list[list[zipfile.ZipInfo]] = []
        for info in infos:
            if not info.filename.endswith((".py", ".pyi")):
                yield Member(info.filename, None)
            elif groups and info.header_offset - _end(groups[-1][-1]) < _GAP:
                groups[-1].append(info)
            else:
                groups.append([info])
        for group in groups:
            first = group[0].header_offset
            data = self._range(release.url, first, min(size - 1, _end(group[-1])))
            for info in group:
                yield Member(info.filename, _inflate(data, info.header_offset - first, info))


def _configured() -> str | None:
    """Return the index that pip is configured for, if it is not the usual one."""
    done = Host().run(["pip", "config", "get", "global.index-url"], timeout=30)
    return done.output.strip() or None if done.ok else None


def _release(version: Version, files: list[DistributionPackage]) -> Release:
    file = min(files, key=_preference)
    date = file.upload_time.date().isoformat() if file.upload_time else ""
    return Release(str(version), file.filename, file.url, file.size or 0, date)


def _preference(file: DistributionPackage) -> tuple[int, int, str]:
    name = file.filename
    if name.endswith("-any.whl"):
        return (0, 0, name)
    if name.endswith(".whl"):
        linux = "x86_64" in name and "linux" in name and "musl" not in name
        pythons = [int(minor) for minor in re.findall(r"-cp3(\d+)-", name)]
        # Python 3.11 parses the sources; of the others the closest one.
        return (1 if linux else 2, abs(min(pythons, default=11) - 11), name)
    return (3, 0 if name.endswith(".tar.gz") else 1, name)


def _wanted(path: str) -> bool:
    if ".dist-info/" in path or ".data/" in path or _TESTS.search(path):
        return False
    return path.endswith((".py", ".pyi")) or bool(_NATIVE.search(path))


def _of_wheel(content: bytes) -> Iterator[Member]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for info in archive.infolist():
            if _wanted(info.filename):
                python = info.filename.endswith((".py", ".pyi"))
                yield Member(info.filename, archive.read(info) if python else None)


def _of_archive(content: bytes) -> Iterator[Member]:
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for info in archive:
            path = info.name.partition("/")[2]
            if info.isfile() and _wanted(path) and path.endswith((".py", ".pyi")):
                file = archive.extractfile(info)
                if file:
                    yield Member(re.sub(r"^(src|lib|python)/", "", path), file.read())


def _end(info: zipfile.ZipInfo) -> int:
    # The local header may be longer than the central one says; 30 bytes and the name are certain.
    return info.header_offset + 30 + len(info.filename) + 512 + info.compress_size


def _inflate(data: bytes, at: int, info: zipfile.ZipInfo) -> bytes:
    name, extra = struct.unpack_from("<HH", data, at + 26)
    start = at + 30 + name + extra
    packed = data[start : start + info.compress_size]
    return packed if info.compress_type == zipfile.ZIP_STORED else zlib.decompress(packed, -15)


class _Tail(io.RawIOBase):
    """A file of which only the end is there."""

    def __init__(self, end: bytes, size: int) -> None:
        super().__init__()
        self._end, self._size, self._at = end, size, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = (0, self._at, self._size)[whence] + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, count: int = -1) -> bytes:
        start = self._at - (self._size - len(self._end))
        if start < 0:
            raise OSError("the directory of the wheel is larger than what was fetched")
        part = self._end[start : None if count < 0 else start + count]
        self._at += len(part)
        return part
