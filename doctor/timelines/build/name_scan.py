"""Read which names one Python source file defines, without running it."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator

import msgspec

_ASSIGNED_ATTRIBUTE = re.compile(r"^[ \t]*self\.([^\W\d]\w*)[ \t]*(?:=(?!=)|,|:[^=\n]*=)", re.M)
_DEFINITION = re.compile(r"([ \t]*)(?:async[ \t]+)?def[ \t]+(\w+)")
_STRING_OR_COMMENT = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|#.*")
_IDENTIFIER = re.compile(r"[^\W\d]\w*\Z")
_DATACLASSES = {"dataclass", "define", "attrs", "dataclass_transform", "mutable", "frozen"}
_LAZY_CALLS = {"_LazyModule", "LazyModule", "attach", "_attach", "attach_stub", "import_submodule"}


class Import(msgspec.Struct, frozen=True):
    """Where an imported name comes from: `name` of `module`, `level` dots before it."""

    level: int
    module: str
    name: str = ""


class Function(msgspec.Struct):
    """The parameters that can be given by keyword; `**` stands for any."""

    parameters: list[str]


class Class(msgspec.Struct):
    """What one class statement defines."""

    bases: list[str] = []
    attributes: set[str] = set()
    methods: dict[str, Function] = {}
    fields: list[str] = []
    generated: bool = False
    """The fields are the parameters of `__init__`."""
    dynamic: bool = False
    """Attributes may be made while the program runs."""


class Source(msgspec.Struct):
    """The names that one file defines."""

    plain: set[str] = set()
    imports: dict[str, Import] = {}
    typing_only: dict[str, Import] = {}
    stars: list[Import] = []
    typing_stars: list[Import] = []
    functions: dict[str, Function] = {}
    classes: dict[str, Class] = {}
    exported: list[str] = []
    lazy: dict[str, list[str]] = {}
    """Names that a lazy module imports, by the module that they come from."""
    lazy_loading: bool = False
    exported_from: list[str] = []
    """Modules whose `__all__` is added to this one."""
    has_all: bool = False
    all_unknown: bool = False
    structure_of: str | None = None
    """The folder whose `__all__` lists make up this module (`define_import_structure`)."""
    dynamic: bool = False
    """Names may be made while the program runs."""
    deleted: set[str] = set()


def scan(content: bytes) -> Source | None:
    """Return the names that a file defines, or None if it is no Python that can be read."""
    lines = content.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    for text in ("\n".join(_without_bodies(lines)), content):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        return _Scan(lines).read(tree)
    return None


def _without_bodies(lines: list[str]) -> list[str]:
    """Replace the bodies of functions by `pass`, since most of the time is spent on parsing them.

    Lines keep their numbers. If a string within a body starts at the margin, the result is no
    Python, and the caller parses the whole file.
    """
    result = list(lines)
    at = 0
    while at < len(lines):
        start = _DEFINITION.match(lines[at])
        if not start or start[2] == "__getattr__":
            at += 1
            continue
        indent, depth, signature = len(start[1]), 0, ""
        while at < len(lines):
            signature = _STRING_OR_COMMENT.sub("", lines[at]).rstrip()
            depth += sum(map(signature.count, "([{")) - sum(map(signature.count, ")]}"))
            at += 1
            if depth <= 0 and not signature.endswith("\\"):
                break
        if not signature.endswith(":"):
            continue  # the body stands on the same line
        last = at
        while at < len(lines):
            text = lines[at].lstrip()
            if text and text[0] != "#" and len(lines[at]) - len(text) <= indent:
                break
            result[at] = ""
            last = at if text else last
            at += 1
        if last < len(lines):  # the class around it ends on its last line
            result[last] = " " * (indent + 1) + "pass"
    return result


class _Scan:
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.source = Source()
        self.literals: dict[str, list[ast.expr]] = {}

    def read(self, tree: ast.Module) -> Source:
        shims: list[ast.FunctionDef] = []
        for node, typing in _statements(tree.body, typing=False):
            self._statement(node, typing=typing)
            if isinstance(node, ast.FunctionDef) and node.name == "__getattr__":
                shims.append(node)
        for shim in shims:
            self._shim(shim)
        return self.source

    def _statement(self, node: ast.stmt, *, typing: bool) -> None:
        source = self.source
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._function(node)
            case ast.ClassDef():
                source.classes[node.name] = self._class(node)
            case ast.ImportFrom():
                self._import_from(node, typing=typing)
            case ast.Import():
                for alias in node.names:
                    name = alias.asname or alias.name.split(".")[0]
                    target = Import(0, alias.name if alias.asname else name)
                    (source.typing_only if typing else source.imports)[name] = target
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                self._assignment(node)
            case ast.Expr(value=ast.Call() as call):
                self._call(call)
            case ast.Delete():
                source.deleted |= {each.id for each in node.targets if isinstance(each, ast.Name)}
            case ast.For():
                source.plain |= set(_names_of(node.target))
            case _:
                pass

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if node.name in ("__getattr__", "__dir__"):
            return
        function = _parameters(node, method=False)
        known = self.source.functions.get(node.name)
        if known:  # overloads, or one definition per platform
            known.parameters += [x for x in function.parameters if x not in known.parameters]
        else:
            self.source.functions[node.name] = function

    def _import_from(self, node: ast.ImportFrom, *, typing: bool) -> None:
        source = self.source
        if node.module == "__future__":
            return
        for alias in node.names:
            target = Import(node.level, node.module or "", alias.name)
            if alias.name == "*":
                (source.typing_stars if typing else source.stars).append(target)
            else:
                place = source.typing_only if typing else source.imports
                place[alias.asname or alias.name] = target

    def _assignment(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        value = node.value
        for target in targets:
            for name in _names_of(target):
                self.source.plain.add(name)
                if value is None:
                    continue
                if not isinstance(target, ast.Name):
                    if name == "__getattr__":
                        self._attach(value)
                    continue
                self.literals.setdefault(name, []).append(value)
                self._named_value(name, value)
            if isinstance(target, ast.Subscript) and value is not None:
                self._subscript(target, value)

    def _named_value(self, name: str, value: ast.expr) -> None:
        source = self.source
        if name == "__all__":
            source.has_all = True
            self._exported(value)
        elif name == "__getattr__":
            self._attach(value)
        elif "import_struct" in name or name == "_SUBMOD_ATTRS":
            self._structure(value)
        if isinstance(value, ast.Call):
            self._call(value)
        elif isinstance(value, ast.Dict) and not source.dynamic:
            self._keep_structure(name, value)

    def _keep_structure(self, name: str, value: ast.Dict) -> None:
        if re.search(r"(?i)import|lazy|lookup|attr|modules", name):
            self.literals.setdefault("@" + name, []).append(value)

    def _structure(self, value: ast.expr) -> None:
        if not isinstance(value, ast.Dict):
            return
        for key, entry in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                self.source.lazy.setdefault(key.value, []).extend(_strings_deep(entry))

    def _subscript(self, target: ast.Subscript, value: ast.expr) -> None:
        base, key = target.value, target.slice
        if isinstance(base, ast.Name) and isinstance(key, ast.Constant):
            if "import_struct" in base.id and isinstance(key.value, str):
                self.source.lazy.setdefault(key.value, []).extend(_strings_deep(value))
        elif isinstance(base, ast.Attribute) and base.attr == "modules":
            self.source.lazy_loading = True  # sys.modules[__name__] = …
            if isinstance(value, ast.Call):
                self._call(value)
                if not self.source.lazy_loading and not self.source.structure_of:
                    self.source.dynamic = True
        if isinstance(base, ast.Call) and _last_name(base.func) == "globals":
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                self.source.plain.add(key.value)
            else:
                self.source.dynamic = True

    def _call(self, call: ast.Call) -> None:
        name = _last_name(call.func)
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        self.source.lazy_loading |= name in _LAZY_CALLS
        if name == "extend_all":  # of numpy.core.numeric
            self.source.exported_from += [_dotted(each) for each in call.args]
        elif name in ("extend", "append") and isinstance(owner, ast.Subscript):
            for argument in call.args:
                self._subscript(owner, argument)
        elif name in ("extend", "append", "update") and isinstance(owner, ast.Name):
            self._added(owner.id, call)
        elif name == "update" and owner is not None and _last_name(owner) == "globals":
            self.source.dynamic = True
        elif name == "define_import_structure":
            inner = [x for argument in call.args for x in _strings_deep(argument)]
            self.source.structure_of = inner[0] if inner else ""
            self.source.lazy_loading = True
        for argument in (*call.args, *(each.value for each in call.keywords)):
            if isinstance(argument, ast.Call):
                self._call(argument)

    def _added(self, name: str, call: ast.Call) -> None:
        for argument in call.args:
            if name == "__all__":
                self._exported(argument)
            elif "import_struct" in name:
                self._structure(argument)
            self.literals.setdefault(name, []).append(argument)

    def _exported(self, value: ast.expr) -> None:
        source = self.source
        source.exported += _strings_deep(value)
        for node in ast.walk(value):
            match node:
                case ast.Attribute(attr="__all__"):
                    source.exported_from.append(_dotted(node.value))
                case ast.Name(id=name) if name in self.literals:
                    source.exported += [
                        x for each in self.literals[name] for x in _strings_deep(each)
                    ]
                case ast.ListComp() | ast.Call():
                    source.all_unknown = True
                case _:
                    pass

    def _attach(self, value: ast.expr) -> None:
        """Read `__getattr__ = attach(…)` of lazy_loader, and the shims of jax."""
        self.source.lazy_loading = True
        if not isinstance(value, ast.Call):
            self.source.dynamic = True
            return
        found = False
        for argument in (*value.args, *(each.value for each in value.keywords)):
            for literal in self._resolve(argument):
                found = True
                self._attached(literal)
        if not found and _last_name(value.func) != "attach_stub":
            self.source.dynamic = True

    def _attached(self, literal: ast.expr) -> None:
        if not isinstance(literal, ast.Dict):
            self.source.plain |= _identifiers(_strings_deep(literal))
            return
        for key, entry in zip(literal.keys, literal.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                continue
            if isinstance(entry, ast.Tuple):  # jax: (message, value), and no value once it left
                if not (isinstance(entry.elts[-1], ast.Constant) and entry.elts[-1].value is None):
                    self.source.plain.add(key.value)
            elif isinstance(entry, (ast.List, ast.Set)):
                self.source.lazy.setdefault(key.value, []).extend(_strings_deep(entry))
            else:
                self.source.plain.add(key.value)

    def _resolve(self, value: ast.expr) -> list[ast.expr]:
        if isinstance(value, ast.Name):
            return self.literals.get(value.id, [])
        return [value] if isinstance(value, (ast.Dict, ast.List, ast.Set, ast.Tuple)) else []

    def _shim(self, shim: ast.FunctionDef) -> None:
        """Read the names that a module's `__getattr__` answers."""
        self.source.lazy_loading = True
        asked = shim.args.args[0].arg if shim.args.args else "name"
        names: set[str] = set()
        refused: set[str] = set()
        for node in ast.walk(shim):
            if isinstance(node, ast.If):
                (refused if _raises(node.body) else names).update(self._tested(node.test, asked))
            elif isinstance(node, ast.Subscript):
                names.update(self._tabled(node, asked))
        self.source.plain |= names - refused
        known = bool(names)
        for name in {x.id for x in ast.walk(shim) if isinstance(x, ast.Name)}:
            for literal in self.literals.get("@" + name, []):
                known = True
                self._attached(literal)
        if not known and not self.source.exported:
            returned = [x for x in ast.walk(shim) if isinstance(x, ast.Return)]
            self.source.dynamic = self.source.dynamic or bool(returned)

    def _tabled(self, node: ast.Subscript, asked: str) -> Iterator[str]:
        match node:
            case ast.Subscript(value=ast.Name(id=table), slice=ast.Name(id=key)) if key == asked:
                for literal in self.literals.get(table, []):
                    yield from self._keys(literal)
            case _:
                pass

    def _tested(self, test: ast.expr, asked: str) -> Iterator[str]:
        for node in ast.walk(test):
            if not isinstance(node, ast.Compare) or not isinstance(node.left, ast.Name):
                continue
            if node.left.id != asked or not isinstance(node.ops[0], (ast.Eq, ast.In)):
                continue
            right = node.comparators[0]
            if isinstance(right, ast.Name):
                for literal in self.literals.get(right.id, []):
                    yield from self._keys(literal)
            else:
                yield from _identifiers(_strings_deep(right))

    def _keys(self, literal: ast.expr) -> Iterator[str]:
        """Return the first strings of a table: keys of a dict, or heads of tuples."""
        match literal:
            case ast.Dict():
                yield from _identifiers(_text(key) for key in literal.keys if key)
            case ast.DictComp():
                for inner in self._resolve(literal.generators[0].iter):
                    yield from self._keys(inner)
            case ast.List() | ast.Tuple() | ast.Set():
                for each in literal.elts:
                    head = each.elts[0] if isinstance(each, ast.Tuple) and each.elts else each
                    yield from _identifiers([_text(head)])
            case ast.Call():
                for argument in literal.args:
                    yield from self._keys(argument)
            case _:
                pass

    def _class(self, node: ast.ClassDef) -> Class:
        found = Class(bases=[name for base in node.bases if (name := _dotted(base))])
        text = "\n".join(self.lines[node.lineno - 1 : node.end_lineno])
        found.attributes = set(_ASSIGNED_ATTRIBUTE.findall(text))
        found.generated = any(_last_name(each) in _DATACLASSES for each in node.decorator_list)
        for statement, _ in _statements(node.body, typing=False):
            self._member(found, statement)
        return found

    def _member(self, found: Class, node: ast.stmt) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                found.attributes.add(node.name)
                decorators = {_last_name(each) for each in node.decorator_list}
                if not decorators & {"property", "cached_property", "setter"}:
                    function = _parameters(node, method="staticmethod" not in decorators)
                    known = found.methods.get(node.name)
                    if known:
                        more = [x for x in function.parameters if x not in known.parameters]
                        function = Function(known.parameters + more)
                    found.methods[node.name] = function
                if node.name in ("__getattr__", "__getattribute__"):
                    found.dynamic = True
            case ast.AnnAssign(target=ast.Name() as target):
                found.attributes.add(target.id)
                if "ClassVar" not in ast.dump(node.annotation):
                    found.fields.append(target.id)
            case ast.Assign():
                for each in node.targets:
                    found.attributes |= set(_names_of(each))
            case ast.ClassDef():
                found.attributes.add(node.name)
            case _:
                pass


def _statements(body: Iterable[ast.stmt], *, typing: bool) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield the statements that run when a module is imported, with those in branches."""
    for node in body:
        yield node, typing
        match node:
            case ast.If():
                if "__main__" in _strings_deep(node.test):
                    continue
                only = typing or "TYPE_CHECKING" in _loaded(node.test)
                yield from _statements(node.body, typing=only)
                yield from _statements(node.orelse, typing=typing)
            case ast.Try():
                parts = [node.body, *(each.body for each in node.handlers)]
                for part in (*parts, node.orelse, node.finalbody):
                    yield from _statements(part, typing=typing)
            case ast.With() | ast.For() | ast.While():
                yield from _statements(node.body, typing=typing)
            case _:
                pass


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef, *, method: bool) -> Function:
    names = [each.arg for each in node.args.args]
    if method and not node.args.posonlyargs:
        names = names[1:]
    names += [each.arg for each in node.args.kwonlyargs]
    for decorator in node.decorator_list:  # renamed parameters that are still accepted
        if isinstance(decorator, ast.Call) and re.search(
            "deprecat|rename", _last_name(decorator.func)
        ):
            values = (*decorator.args, *(each.value for each in decorator.keywords))
            names += _identifiers(_text(value) for value in values)
    if node.args.kwarg:
        names.append("**")
    return Function(list(dict.fromkeys(names)))


def _names_of(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List)):
        for each in target.elts:
            yield from _names_of(each)


def _text(node: ast.expr) -> str:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) else ""


def _strings_deep(node: ast.expr) -> list[str]:
    return [text for each in ast.walk(node) if isinstance(each, ast.expr) and (text := _text(each))]


def _identifiers(texts: Iterable[str]) -> set[str]:
    return {text for text in texts if _IDENTIFIER.match(text)}


def _loaded(node: ast.expr) -> set[str]:
    return {_last_name(each) for each in ast.walk(node) if isinstance(each, ast.expr)}


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            return node.attr
        case ast.Call():
            return _last_name(node.func)
        case _:
            return ""


def _dotted(node: ast.expr) -> str:
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            owner = _dotted(node.value)
            return f"{owner}.{node.attr}" if owner else ""
        case ast.Subscript():  # Generic[T]
            return _dotted(node.value)
        case _:
            return ""


def _raises(body: list[ast.stmt]) -> bool:
    return any(isinstance(each, ast.Raise) for each in body)
