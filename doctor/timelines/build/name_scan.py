"""Read which names one Python source file defines, without running it."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from doctor.timelines.build.name_files import Class, Function, Import, Source
from doctor.timelines.build.name_syntax import (
    dotted,
    identifiers,
    last_name,
    names_of,
    parameters,
    raises,
    statements,
    strings_deep,
    text_of,
    without_bodies,
)

_ASSIGNED_ATTRIBUTE = re.compile(r"^[ \t]*self\.([^\W\d]\w*)[ \t]*(?:=(?!=)|,|:[^=\n]*=)", re.M)
_DATACLASSES = {"dataclass", "define", "attrs", "dataclass_transform", "mutable", "frozen"}
_LAZY_CALLS = {"_LazyModule", "LazyModule", "attach", "_attach", "attach_stub", "import_submodule"}


def scan(content: bytes) -> Source | None:
    """Return the names that a file defines, or None if it is no Python that can be read."""
    lines = content.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    for text in ("\n".join(without_bodies(lines)), content):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        return _Scan(lines).read(tree)
    return None


class _Scan:
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.source = Source()
        self.looped: set[str] = set()
        self.literals: dict[str, list[ast.expr]] = {}

    def read(self, tree: ast.Module) -> Source:
        shims: list[ast.FunctionDef] = []
        for node, typing in statements(tree.body, typing=False):
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
                source.plain |= set(names_of(node.target))
                self._loop(node)
            case _:
                pass

    def _loop(self, node: ast.For) -> None:
        """Read `for name in (…): globals()[name] = …`."""
        values = [each for literal in self._resolve(node.iter) for each in self._keys(literal)]
        if isinstance(node.target, ast.Name) and values:
            self.looped.add(node.target.id)
            if any(
                last_name(each) in ("globals", "locals")
                for each in ast.walk(node)
                if isinstance(each, ast.Call)
            ):
                self.source.plain.update(values)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if node.name in ("__getattr__", "__dir__"):
            return
        function = Function(parameters(node, method=False))
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
            for name in names_of(target):
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
                self.source.lazy.setdefault(key.value, []).extend(strings_deep(entry))

    def _subscript(self, target: ast.Subscript, value: ast.expr) -> None:
        base, key = target.value, target.slice
        if isinstance(base, ast.Name) and isinstance(key, ast.Constant):
            if "import_struct" in base.id and isinstance(key.value, str):
                self.source.lazy.setdefault(key.value, []).extend(strings_deep(value))
        elif isinstance(base, ast.Attribute) and base.attr == "modules":
            self.source.lazy_loading = True  # sys.modules[__name__] = …
            if isinstance(value, ast.Call):
                self._call(value)
                if not self.source.lazy_loading and not self.source.structure_of:
                    self.source.dynamic = True
        if isinstance(base, ast.Call) and last_name(base.func) in ("globals", "locals"):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                self.source.plain.add(key.value)
            elif not (isinstance(key, ast.Name) and key.id in self.looped):
                self.source.dynamic = True

    def _call(self, call: ast.Call) -> None:
        name = last_name(call.func)
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        self.source.lazy_loading |= name in _LAZY_CALLS
        if name == "extend_all":  # of numpy.core.numeric
            self.source.exported_from += [dotted(each) for each in call.args]
        elif name in ("extend", "append") and isinstance(owner, ast.Subscript):
            for argument in call.args:
                self._subscript(owner, argument)
        elif name in ("extend", "append", "update") and isinstance(owner, ast.Name):
            self._added(owner.id, call)
        elif name == "update" and owner is not None and last_name(owner) == "globals":
            self.source.dynamic = True
        elif name == "define_import_structure":
            inner = [x for argument in call.args for x in strings_deep(argument)]
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
        source.exported += strings_deep(value)
        for node in ast.walk(value):
            match node:
                case ast.Attribute(attr="__all__"):
                    source.exported_from.append(dotted(node.value))
                case ast.Name(id=name) if name in self.literals:
                    source.exported += [
                        x for each in self.literals[name] for x in strings_deep(each)
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
        if not found and last_name(value.func) != "attach_stub":
            self.source.dynamic = True

    def _attached(self, literal: ast.expr) -> None:
        if not isinstance(literal, ast.Dict):
            self.source.answered |= identifiers(strings_deep(literal))
            return
        for key, entry in zip(literal.keys, literal.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                continue
            if isinstance(entry, ast.Tuple):  # jax: (message, value), and no value once it left
                if not (isinstance(entry.elts[-1], ast.Constant) and entry.elts[-1].value is None):
                    self.source.answered.add(key.value)
            elif isinstance(entry, (ast.List, ast.Set)):
                self.source.lazy.setdefault(key.value, []).extend(strings_deep(entry))
            else:
                self.source.answered.add(key.value)

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
                (refused if raises(node.body) else names).update(self._tested(node.test, asked))
            elif isinstance(node, ast.Subscript):
                names.update(self._tabled(node, asked))
        self.source.answered |= names - refused
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
                yield from identifiers(strings_deep(right))

    def _keys(self, literal: ast.expr) -> Iterator[str]:
        """Return the first strings of a table: keys of a dict, or heads of tuples."""
        match literal:
            case ast.Dict():
                yield from identifiers(text_of(key) for key in literal.keys if key)
            case ast.DictComp():
                for inner in self._resolve(literal.generators[0].iter):
                    yield from self._keys(inner)
            case ast.List() | ast.Tuple() | ast.Set():
                for each in literal.elts:
                    head = each.elts[0] if isinstance(each, ast.Tuple) and each.elts else each
                    yield from identifiers([text_of(head)])
            case ast.Call():
                for argument in literal.args:
                    yield from self._keys(argument)
            case _:
                pass

    def _class(self, node: ast.ClassDef) -> Class:
        found = Class(bases=[name for base in node.bases if (name := dotted(base))])
        text = "\n".join(self.lines[node.lineno - 1 : node.end_lineno])
        found.attributes = set(_ASSIGNED_ATTRIBUTE.findall(text))
        found.generated = any(last_name(each) in _DATACLASSES for each in node.decorator_list)
        for statement, _ in statements(node.body, typing=False):
            self._member(found, statement)
        return found

    def _member(self, found: Class, node: ast.stmt) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                found.attributes.add(node.name)
                decorators = {last_name(each) for each in node.decorator_list}
                if not decorators & {"property", "cached_property", "setter"}:
                    function = Function(parameters(node, method="staticmethod" not in decorators))
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
                    found.attributes |= set(names_of(each))
            case ast.ClassDef():
                found.attributes.add(node.name)
            case _:
                pass
