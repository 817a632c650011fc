"""From the folder `matrices` to a Catalog, and from a Catalog to its compiled form."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from doctor.base.bundled import bundled
from doctor.base.errors import DoctorError
from doctor.base.patterns import pattern_error
from doctor.host.reading import UnreadableFile, read_whole
from doctor.model.catalog import Catalog
from doctor.model.compat import Table
from doctor.model.issues import Condition, KnownIssue, Recipe

COMPILED = "catalog.msgpack"
_COMPILED_BESIDE = ".catalog.msgpack"
"""The compiled catalog of a checkout, so that not every command parses hundreds of files."""
_MAX_FILE = 256 << 10
_DEEPEST = 100
_DEEPER = {
    "SequenceStartEvent": 1,
    "MappingStartEvent": 1,
    "SequenceEndEvent": -1,
    "MappingEndEvent": -1,
}
"""How deep an event of YAML leads."""
_T = TypeVar("_T")


class CatalogError(DoctorError):
    """One or more files of the catalog cannot be used.

    Each line names the file and the place in it.
    """


def load(extra: Sequence[Path] = ()) -> Catalog:
    """Load doctor's own catalog, and then those of `extra`.

    Their entries win over entries of the same id.

    Raises CatalogError for a folder that is not there, for entries that do not fit the schema, and
    for patterns that cannot be searched in linear time, all of them at once. What came with doctor
    was linted when it was made.
    """
    own = _load_own()
    return own if not extra else _merge([own, *(_of_others(folder) for folder in extra)])


def _of_others(folder: Path) -> Catalog:
    catalog = load_folder(folder)
    entries: dict[Path, KnownIssue | Table] = {
        folder / "issues" / f"{name}.yaml": issue for name, issue in catalog.issues.items()
    }
    entries |= {folder / "compat" / f"{name}.yaml": table for name, table in catalog.tables.items()}
    faults = [
        f"{path}: {place}: {why}"
        for path, entry in entries.items()
        for place, pattern in patterns_of(entry)
        if (why := pattern_error(pattern))
    ]
    if faults:
        raise CatalogError("\n".join(faults))
    return catalog


def patterns_of(entry: KnownIssue | Table) -> Iterator[tuple[str, str]]:
    """Yield every pattern of an entry with its place, as `signatures[0].also[1]` names it."""
    if isinstance(entry, Table):
        yield from _of_conditions("applies", entry.applies)
        for name, column in entry.columns.items():
            yield from _of_conditions(f"columns.{name}.when", column.when)
            yield from _of_recipes(f"columns.{name}.fixes", column.fixes)
        for number, cells in enumerate(entry.rows):
            if isinstance(
                models := cells.get("models"), str
            ):  # the names of cards, which are searched for
                yield f"rows[{number}].models", models
        return
    for number, signature in enumerate(entry.signatures):
        yield f"signatures[{number}].pattern", signature.pattern
        for name, others in (("also", signature.also), ("unless", signature.unless)):
            yield from (
                (f"signatures[{number}].{name}[{at}]", other) for at, other in enumerate(others)
            )
    whens = {f"affected[{number}]": row.when for number, row in enumerate(entry.affected)}
    whens |= {f"milder[{number}]": one.when for number, one in enumerate(entry.milder)}
    for place, conditions in whens.items():
        yield from _of_conditions(f"{place}.when", conditions)
    yield from _of_recipes("fixes", entry.fixes)


def _of_recipes(place: str, recipes: Sequence[Recipe]) -> Iterator[tuple[str, str]]:
    for number, recipe in enumerate(recipes):
        yield from _of_conditions(f"{place}[{number}].use_if", recipe.conditions)
        for name, patterns in (("shown", recipe.shown), ("unless", recipe.unless)):
            yield from ((f"{place}[{number}].{name}[{at}]", one) for at, one in enumerate(patterns))


def _of_conditions(place: str, conditions: Sequence[Condition]) -> Iterator[tuple[str, str]]:
    for number, condition in enumerate(conditions):
        if condition.matches is not None:
            yield f"{place}[{number}].matches", condition.matches


@cache
def _load_own() -> Catalog:
    compiled_one = bundled("matrices") / COMPILED
    if compiled_one.is_file():
        return msgspec.msgpack.decode(compiled_one.read_bytes(), type=Catalog)
    return _of_checkout(bundled("matrices"))


def _of_checkout(folder: Path) -> Catalog:
    """Read the catalog of a checkout, compiled or from YAML."""
    return read_through(
        folder.parent / _COMPILED_BESIDE,
        [folder / "issues", folder / "compat"],
        Catalog,
        lambda: load_folder(folder),
    )


def read_through(
    beside: Path, folders: Sequence[Path], kind: type[_T], read: Callable[[], _T]
) -> _T:
    """Return what `read` makes of the YAML files in `folders`, or its compiled form.

    The compiled form is the file `beside`. It counts while no file has changed.
    """
    state = _state(folders)
    with contextlib.suppress(OSError, ValueError):
        kept = msgspec.msgpack.decode(beside.read_bytes(), type=_Kept)
        if kept.state == state:
            return msgspec.msgpack.decode(kept.value, type=kind)
    value = read()
    temporary = beside.with_name(f"{beside.name}.{os.getpid()}")
    compiled_one = _Kept(state=state, value=msgspec.Raw(msgspec.msgpack.encode(value)))
    with contextlib.suppress(OSError):
        temporary.write_bytes(msgspec.msgpack.encode(compiled_one))
        temporary.replace(beside)
    with contextlib.suppress(OSError):
        temporary.unlink()
    return value


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A compiled value as it was when the files were in this state."""

    state: str
    value: msgspec.Raw


def _state(folders: Sequence[Path]) -> str:
    """Return a digest of the YAML files in folders and of the model that reads them."""
    import hashlib

    told = hashlib.sha256()
    files = [path for folder in folders for path in folder.rglob("*.yaml")]
    for path in sorted([*files, *(Path(__file__).parent.parent / "model").glob("*.py")]):
        seen = path.stat()
        told.update(f"{path}\0{seen.st_mtime_ns}\0{seen.st_size}\n".encode())
    return told.hexdigest()


def load_folder(folder: Path) -> Catalog:
    """Read every YAML file under `folder/issues` and `folder/compat`."""
    if not folder.is_dir():
        raise CatalogError(f"no catalog at {folder}: it is a folder that holds issues/ and compat/")
    faults: list[str] = []
    issues = dict(read_entries(folder / "issues", KnownIssue, faults))
    tables = dict(read_entries(folder / "compat", Table, faults))
    if faults:
        raise CatalogError("\n".join(faults))
    return _stamped(issues, tables)


def compiled(catalog: Catalog) -> bytes:
    """Return the catalog as data only, to be read by `load` without parsing YAML.

    The examples are left out, a third of it: they are tests, and `doctor lint`, which runs them,
    reads the files.
    """
    return msgspec.msgpack.encode(
        msgspec.structs.replace(catalog, issues=_without_examples(catalog.issues))
    )


def _without_examples(issues: Mapping[str, KnownIssue]) -> dict[str, KnownIssue]:
    return {name: msgspec.structs.replace(issue, examples=()) for name, issue in issues.items()}


def read_entries(folder: Path, kind: type[_T], faults: list[str]) -> Iterator[tuple[str, _T]]:
    """Yield the entries of a folder by name, and add the faults of the others to `faults`."""
    for path in sorted(folder.rglob("*.yaml")):
        try:
            yield path.relative_to(folder).with_suffix("").as_posix(), read_entry(path, kind)
        except CatalogError as error:
            faults.append(str(error))


def read_entry(path: Path, kind: type[_T]) -> _T:
    """Read one file as a known issue or a table.

    Raises CatalogError with the file, the line or the place in it, and why.
    """
    document = parse_yaml(path)
    for key in _keys(document):
        if not isinstance(key, str):
            raise CatalogError(f"{path}: {str(key)[:60]!r} is a key and no text: put it in quotes")
    try:
        return msgspec.convert(document, kind, strict=True)
    except msgspec.ValidationError as error:
        raise CatalogError(f"{path}: {error}") from None


def _keys(document: Any) -> Iterator[Any]:
    """Yield the keys of all mappings in a document, at whatever depth."""
    waiting = [document]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield from part
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


def parse_yaml(path: Path) -> Any:
    """Parse a YAML file with plain values only.

    Aliases are refused, since they let a small file grow without bound.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        text = _text(path)
        depth = 0
        for event in yaml.parse(text, Loader=loader):
            if isinstance(event, yaml.AliasEvent):
                raise CatalogError(f"{path}: aliases are not allowed")
            depth += _DEEPER.get(type(event).__name__, 0)
            if depth > _DEEPEST:  # LibYAML takes quadratic time for those
                raise CatalogError(f"{path}: more than {_DEEPEST} levels are nested")
        return yaml.load(text, Loader=loader)  # noqa: S506 - a safe loader
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}" if mark else str(path)
        raise CatalogError(f"{place}: {getattr(error, 'problem', error)}") from None
    except UnreadableFile as error:
        raise CatalogError(str(error)) from None
    except (OSError, ValueError, RecursionError) as error:
        raise CatalogError(f"{path}: {error}") from None


def _text(path: Path) -> str:
    data = read_whole(path, _MAX_FILE)
    if data is None:
        raise FileNotFoundError("it is gone")
    return data.decode("utf-8")


def lines_of(path: Path) -> dict[str, int]:
    """Return the line number of each path, `fixes[0].title`, in a YAML file that parses."""
    import yaml

    root = yaml.compose(_text(path), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    lines: dict[str, int] = {}
    waiting = [("", root)] if root else []
    while waiting:
        place, node = waiting.pop()
        if isinstance(node, yaml.MappingNode):
            parts = [
                (f"{place}.{key.value}" if place else str(key.value), key, value)
                for key, value in node.value
            ]
        elif isinstance(node, yaml.SequenceNode):
            parts = [
                (f"{place}[{number}]", value, value) for number, value in enumerate(node.value)
            ]
        else:
            parts = []
        lines |= {name: shown.start_mark.line + 1 for name, shown, _ in parts}
        waiting += [(name, value) for name, _, value in parts]
    return lines


def _merge(catalogs: Sequence[Catalog]) -> Catalog:
    issues: dict[str, KnownIssue] = {}
    tables: dict[str, Table] = {}
    for catalog in catalogs:
        issues |= catalog.issues
        tables |= catalog.tables
    return _stamped(issues, tables)


def _stamped(issues: dict[str, KnownIssue], tables: dict[str, Table]) -> Catalog:
    import hashlib  # of the compiled catalog the digest is part

    digest = hashlib.sha256(
        msgspec.msgpack.encode((_without_examples(issues), tables), order="sorted")
    ).hexdigest()
    opened = [reference.opened for issue in issues.values() for reference in issue.references]
    opened += [source.opened for table in tables.values() for source in table.sources.values()]
    newest = max(opened).isoformat() if opened else ""
    return Catalog(issues=issues, tables=tables, digest=digest[:16], newest_source=newest)
