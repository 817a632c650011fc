"""What fits together here: rows of the compatibility tables and requirements of packages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any, NamedTuple

from doctor.facts.families import ExtensionFact, extension_facts, requirements, table_cells
from doctor.facts.placeholders import as_text
from doctor.model.facts import Fact, Facts, State, value_of


class Fit(Enum):
    """How what is here stands to what is wanted; the worst first."""

    VIOLATED = "violated"
    UNKNOWN = "unknown"
    NOT_HERE = "not here"
    FITS = "fits"


class Row(NamedTuple):
    """One requirement: who asks for what, what is here, and the fact that says so."""

    by: str
    what: str
    wanted: str
    here: str
    fit: Fit
    fact: str
    why: str = ""


class _Pair(NamedTuple):
    """A derived fact that holds two things against each other.

    `good` are the values at which they fit, None where absence is good.
    """

    fact: str
    by: str
    what: str
    wanted: str
    here: str
    good: tuple[Any, ...] | None


_PAIRS = (
    _Pair(
        "gpu.unsupported_by_torch",
        "torch's compiled code",
        "GPU",
        "torch.arch_list",
        "nvidia.capabilities",
        None,
    ),
    _Pair(
        "cuda.matches_torch",
        "torch's CUDA",
        "toolkit",
        "torch.cuda_version",
        "cuda.version",
        ("same", "minor"),
    ),
    _Pair(
        "cuda.compiler_fits_headers",
        "the toolkit's headers",
        "nvcc",
        "cuda.headers_version",
        "cuda.version",
        (True,),
    ),
    _Pair(
        "flash-attn.wheel_fits_torch",
        "flash-attn's wheel",
        "torch",
        "package.flash-attn.wheel_torch",
        "torch.version",
        (True,),
    ),
    _Pair(
        "flash-attn.wheel_fits_abi",
        "flash-attn's wheel",
        "C++11 ABI",
        "package.flash-attn.wheel_abi",
        "torch.cxx11_abi",
        (True,),
    ),
    _Pair("rust.too_old", "this workspace", "rustc", "cargo.rust_wanted", "rust.rustc", (False,)),
)
_ORDER = list(Fit)


def rows(facts: Facts) -> list[Row]:
    """Return what is held against each other here, what does not fit first."""
    found = [*_tables(facts), *_pairs(facts), *_extensions(facts), *_requirements(facts)]
    return sorted(found, key=lambda row: _ORDER.index(row.fit))


def by_asker(found: Iterable[Row]) -> dict[str, list[Row]]:
    """Group rows by who asks: most violations first, then most requirements."""
    groups: dict[str, list[Row]] = {}
    for row in found:
        groups.setdefault(row.by, []).append(row)
    return dict(sorted(groups.items(), key=lambda item: (_weight(item[1]), item[0].casefold())))


def _weight(group: list[Row]) -> list[int]:
    return [
        *(-sum(row.fit is fit for row in group) for fit in (Fit.VIOLATED, Fit.UNKNOWN)),
        -len(group),
    ]


def _tables(facts: Facts) -> Iterator[Row]:
    """Yield the columns that judge, of the tables of which a row was selected."""
    for cell in table_cells(facts):
        if cell.fact("wanted") not in facts:
            continue
        verdict = facts[cell.verdict]
        yield Row(
            cell.text("by", facts) or cell.table,
            cell.column,
            _text(facts, cell.fact("wanted")),
            _text(facts, cell.fact("seen")),
            Fit.NOT_HERE if verdict.state is State.ABSENT else _fit(verdict, ("fits",)),
            cell.verdict,
            verdict.why,
        )


def _pairs(facts: Facts) -> Iterator[Row]:
    for pair in _PAIRS:
        verdict, wanted, here = facts.get(pair.fact), facts.get(pair.wanted), facts.get(pair.here)
        known = [
            fact for fact in (wanted, here) if fact is not None and fact.state is State.PRESENT
        ]
        if verdict is None or len(known) < 2:
            continue
        yield Row(
            pair.by,
            pair.what,
            _text(facts, pair.wanted),
            _text(facts, pair.here),
            _fit(verdict, pair.good),
            pair.fact,
            verdict.why,
        )


def _fit(verdict: Fact, good: tuple[Any, ...] | None) -> Fit:
    if verdict.state is State.UNKNOWN or (verdict.state is State.ABSENT and good is not None):
        return Fit.UNKNOWN
    fits = verdict.state is State.ABSENT if good is None else verdict.value in good
    return Fit.FITS if fits else Fit.VIOLATED


_LACKS = {
    "missing_libraries": "libraries",
    "undefined_symbols": "symbols",
    "system_versions": "versions of the C and C++ libraries",
    "unsupported_gpus": "code for these GPUs",
}


def _extensions(facts: Facts) -> Iterator[Row]:
    """Yield what compiled files ask for in vain."""
    for package, kind in extension_facts(facts):
        name = ExtensionFact(package, kind).name
        if kind in _LACKS and (lacks := value_of(facts, name)):
            here = "not here" if kind != "unsupported_gpus" else "none"
            wanted = _few(lacks) if isinstance(lacks, list) else as_text(lacks)
            yield Row(f"{package}'s compiled files", _LACKS[kind], wanted, here, Fit.VIOLATED, name)


def _requirements(facts: Facts) -> Iterator[Row]:
    """Yield what packages of the stack ask of each other."""
    for one in requirements(facts):
        met = facts[one.fact("met")]
        if met.state is State.ABSENT:
            continue
        installed = value_of(facts, f"package.{one.package}.version") or (
            value_of(facts, "torch.version") if one.package == "torch" else ""
        )
        yield Row(
            f"{one.package} {as_text(installed or '')}".strip(),
            one.wanted,
            _text(facts, one.fact("specifier")) or "any",
            one.text("installed", facts) or "not installed",
            _fit(met, (True,)),
            one.fact("met"),
            met.why,
        )


def _text(facts: Facts, name: str) -> str:
    fact = facts.get(name)
    if fact is None or fact.state is State.UNKNOWN:
        return "not known"
    return "none" if fact.state is State.ABSENT else as_text(fact.value)


def _few(items: list[Any], most: int = 4) -> str:
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(map(as_text, items[:most])) + more
