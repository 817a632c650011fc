"""Write lists of packages, nvidia-smi and ds_report in the words of PyTorch's own report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_LONGEST = 400
_HEAD = re.compile(r"^\s{0,8}(?:Package\s{1,60}Version\b|# Name\s{1,60}Version\b)")
_ROW = re.compile(
    r"^\s{0,8}([A-Za-z][\w.-]{1,60})\s{1,60}(\d[\w.+!]{0,40})(?:\s{1,60}(\S{1,60}))?(?:\s|$)"
)
_FROZEN = re.compile(r"^\s{0,8}([A-Za-z][\w.-]{1,60})==(\d[\w.+!]{0,40})\s{0,8}$")
_TAG = re.compile(r"\+cu(\d{2})(\d)$")
_BUILD = re.compile(r"cuda_?(\d{1,2})\.?(\d)(?:\D|$)")
_DRIVER = re.compile(r"NVIDIA-SMI [\d.]{1,20}\s{1,20}Driver Version: (\d[\d.]{2,20})")
_GPU = re.compile(
    r"^\|\s{1,6}(\d{1,3})\s{1,6}"
    r"((?:NVIDIA|Tesla|GeForce|Quadro|RTX|A\d|H\d)[\w ()-]{1,40}?)\s{2,30}"
)
_DEEPSPEED = re.compile(
    r"^(torch version|torch cuda version|nvcc version|deepspeed info) \.{2,40} (\S{1,40}?),?(?: |$)"
)
_SHARE = 0.8
"""Of the lines of `pip freeze`, which has no header: a log may quote requirements."""
_FEWEST = 3
"""Packages that a list has at least, so that a line of a log is none."""


def of_lists(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines that PyTorch's report would have, from lists that other tools print."""
    yield from _of_deepspeed(lines)
    yield from _of_packages(lines)
    yield from _of_smi(lines)


def _of_packages(lines: Sequence[str]) -> Iterator[str]:
    listed = any(_HEAD.match(line) for line in lines)
    rows = [
        found
        for line in lines
        if (found := (_ROW if listed else _FROZEN).match(line[:_LONGEST])) is not None
    ]
    packages = {found[1].lower(): found for found in rows}
    if not listed and len(rows) < _SHARE * sum(bool(line.strip()) for line in lines):
        return
    torch = packages.get("torch") or packages.get("pytorch")
    if torch is None or len(rows) < _FEWEST:
        return
    build = torch[3] if torch.re is _ROW and torch[3] else ""
    tag = _TAG.search(torch[2]) or _BUILD.search(build)
    yield f"PyTorch version: {torch[2]}"
    is_cpu = "+cpu" in torch[2] or "cpu" in build
    if tag or is_cpu:
        yield f"CUDA used to build PyTorch: {f'{tag[1]}.{tag[2]}' if tag else 'None'}"
    if "python" in packages:
        yield f"Python version: {packages['python'][2]}"
    for name, found in packages.items():
        if name not in ("torch", "pytorch", "python"):
            yield f"[pip3] {name}=={found[2]}"


def _of_smi(lines: Sequence[str]) -> Iterator[str]:
    driver = next((found[1] for line in lines if (found := _DRIVER.search(line[:_LONGEST]))), "")
    if not driver:
        return
    yield f"Nvidia driver version: {driver}"
    for line in lines:
        if found := _GPU.match(line[:_LONGEST]):
            yield f"GPU {found[1]}: {found[2]}"


def _of_deepspeed(lines: Sequence[str]) -> Iterator[str]:
    rows = {found[1]: found[2] for line in lines if (found := _DEEPSPEED.match(line[:_LONGEST]))}
    if "torch version" not in rows:
        return
    yield f"PyTorch version: {rows['torch version']}"
    if cuda := rows.get("torch cuda version"):
        yield f"CUDA used to build PyTorch: {cuda}"
    if nvcc := rows.get("nvcc version"):
        yield f"CUDA runtime version: {nvcc}"
    if deepspeed := rows.get("deepspeed info"):
        yield f"[pip3] deepspeed=={deepspeed.rstrip(',')}"
