"""Compare the tables of numbered errors with the official headers.

Run as `python -m doctor.timelines.build.codes`. The headers are read from the newest wheels of the
index that pip uses. `--header KIND=FILE` reads another header, such as that of HIP. Texts in the
tables stay as they are: the command names what differs, and exits with 1.
"""

from __future__ import annotations

import argparse
import ast
import operator
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from doctor.base.errors import DoctorError
from doctor.catalog.reference import load_tables
from doctor.model.reference import CodeTable
from doctor.timelines.build.wheels import read_members, wheel_address


class Header(NamedTuple):
    """A header with an enumeration: the package of its wheel, the file, the enumeration."""

    package: str
    file: str
    enumeration: str


HEADERS: Mapping[str, Header] = {
    "cuda": Header("nvidia-cuda-runtime", "/driver_types.h", "cudaError"),
    "cuda-driver": Header("nvidia-cuda-runtime", "/cuda.h", "cudaError_enum"),
    "cublas": Header("nvidia-cublas", "/cublas_api.h", "cublasStatus_t"),
    "cudnn": Header("nvidia-cudnn-cu13", "/cudnn_graph.h", "cudnnStatus_t"),
    "cufft": Header("nvidia-cufft", "/cufft.h", "cufftResult_t"),
    "cusparse": Header("nvidia-cusparse", "/cusparse.h", "cusparseStatus_t"),
    "cusolver": Header("nvidia-cusolver", "/cusolver_common.h", "cusolverStatus_t"),
    "curand": Header("nvidia-curand", "/curand.h", "curandStatus"),
    "nccl": Header("nvidia-nccl-cu13", "/nccl.h", "ncclResult_t"),
    "nvrtc": Header("nvidia-cuda-nvrtc", "/nvrtc.h", "nvrtcResult"),
    "nvjitlink": Header("nvidia-nvjitlink", "/nvJitLink.h", "nvJitLinkResult"),
    "nvml": Header("nvidia-ml-py", "pynvml.py", ""),
}
"""Where the numbers of each kind stand; those of other kinds are in no wheel."""

_ENUMERATIONS = {
    "hip": "hipError_t",
    "level-zero": "_ze_result_t",
    "ur": "ur_result_t",
    "rocblas": "rocblas_status_",
    "miopen": "miopenStatus_t",
}
_ENUMERATION = re.compile(r"\benum\b([^{};]*)\{([^}]*)\}\s*(\w*)")
_MEMBER = re.compile(r"\s*([A-Za-z_]\w*)[^=]*(?:=\s*(.+?))?\s*$", re.DOTALL)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_LAST = re.compile(r"NumResults$|FORCE_UINT32$")
"""Members that only close an enumeration."""
_OPERATIONS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.LShift: operator.lshift,
    ast.BitOr: operator.or_,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
}


def enumeration(text: str, name: str) -> dict[str, int]:
    """Return the members of an enumeration of a C header; with no name, NVML's of pynvml.

    Raises DoctorError if the header does not have it.
    """
    if not name:
        found = re.findall(r"(?m)^(NVML_(?:SUCCESS|ERROR_\w+))\s*=\s*(\d+)", text)
        return {member: int(number) for member, number in found}
    for match in _ENUMERATION.finditer(_COMMENT.sub("", text)):
        if name in (match[3], *match[1].split()):
            return _members(match[2])
    raise DoctorError(f"the header has no enumeration {name}")


def _members(body: str) -> dict[str, int]:
    members: dict[str, int] = {}
    number = -1
    for part in body.split(","):
        if not part.strip() or (match := _MEMBER.match(part)) is None:
            continue
        value = re.sub(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", match[2] or "")
        number = _value(ast.parse(value, mode="eval").body, members) if value else number + 1
        members[match[1]] = number
    return {name: number for name, number in members.items() if not _LAST.search(name)}


def _value(node: ast.expr, members: Mapping[str, int]) -> int:
    """Compute what stands after the sign of equality: numbers, earlier members, shifts and sums."""
    match node:
        case ast.Constant(value=int() as number):
            return number
        case ast.Name(id=name) if name in members:
            return members[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, members)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            return _OPERATIONS[type(op)](_value(left, members), _value(right, members))
    raise DoctorError(f"not a number: {ast.unparse(node)}")


def differences(table: CodeTable, members: Mapping[str, int]) -> Iterator[str]:
    """Yield what the table lacks, and the numbers that differ; older members may stay."""
    by_name = {name: row for row in table.rows for name in (row.name, *row.also)}
    for name, number in members.items():
        row = by_name.get(name)
        if row is None:
            yield f"{name} = {number} is missing"
        elif number not in (row.number, *row.numbers):
            yield f"{name} is {number} in the header and {row.number} in the table"


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare all tables, print what differs, and return 1 if anything does."""
    parser = argparse.ArgumentParser(prog="python -m doctor.timelines.build.codes")
    parser.add_argument("--header", action="append", default=[], metavar="KIND=FILE")
    parser.add_argument("--only", action="append", default=[], metavar="KIND")
    options = parser.parse_args(arguments)
    texts: dict[str, str] = {}
    for given in options.header:
        kind, _, path = given.partition("=")
        texts[kind] = Path(path).read_text(encoding="utf-8", errors="replace")
    wanted = options.only or ([*texts] if texts else [*HEADERS])
    tables = load_tables("codes", CodeTable)
    faults: list[str] = []
    for kind in wanted:
        text = texts.get(kind) or _from_wheel(HEADERS[kind])
        name = HEADERS[kind].enumeration if kind in HEADERS else _ENUMERATIONS[kind]
        members = enumeration(text, name)
        faults += [f"{kind}: {fault}" for fault in differences(tables[kind], members)]
    sys.stdout.write("".join(f"{fault}\n" for fault in faults) or "no difference\n")
    return 1 if faults else 0


def _from_wheel(header: Header) -> str:
    members = read_members(wheel_address(header.package), [header.file])
    if not members:
        raise DoctorError(f"{header.package} has no {header.file}")
    return next(iter(members.values()))


if __name__ == "__main__":
    sys.exit(main())
