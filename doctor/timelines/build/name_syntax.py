"""Helpers to read the syntax tree of a Python source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

_DEFINITION = re.compile(r"([ \t]*)(?:async[ \t]+)?def[ \t]+(\w+)")
_STRING_OR_COMMENT = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|#.*")
_IDENTIFIER = re.compile(r"[^\W\d]\w*\Z")


def without_bodies(lines: list[str]) -> list[str]:
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
            line = lines[at].lstrip()
            if line and line[0] != "#" and len(lines[at]) - len(line) <= indent:
                break
            result[at] = ""
            last = at if line else last
            at += 1
        if last < len(lines):  # the class around it ends on its last line
            result[last] = " " * (indent + 1) + "pass"
    return result


def statements(body: Iterable[ast.stmt], *, typing: bool) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield the statements that run when a module is imported, with those in branches."""
    for node in body:
        yield node, typing
        match node:
            case ast.If():
                if "__main__" in strings_deep(node.test):
                    continue
                only = typing or "TYPE_CHECKING" in loaded(node.test)
                yield from statements(node.body, typing=only)
                yield from statements(node.orelse, typing=typing)
            case ast.Try():
                parts = [node.body, *(each.body for each in node.handlers)]
                for part in (*parts, node.orelse, node.finalbody):
                    yield from statements(part, typing=typing)
            case ast.With() | ast.For() | ast.While():
                yield from statements(node.body, typing=typing)
            case _:
                pass


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef, *, method: bool) -> list[str]:
    """Return the parameters that can be given by keyword; `**` stands for any."""
    names = [each.arg for each in node.args.args]
    if method and not node.args.posonlyargs:
        names = names[1:]
    names += [each.arg for each in node.args.kwonlyargs]
    for decorator in node.decorator_list:  # renamed parameters that are still accepted
        if isinstance(decorator, ast.Call) and re.search(
            "deprecat|rename", last_name(decorator.func)
        ):
            values = (*decorator.args, *(each.value for each in decorator.keywords))
            names += identifiers(text_of(value) for value in values)
    if node.args.kwarg:
        names.append("**")
    return list(dict.fromkeys(names))


def names_of(target: ast.expr) -> Iterator[str]:
    """Yield the names that an assignment binds."""
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List)):
        for each in target.elts:
            yield from names_of(each)


def text_of(node: ast.expr) -> str:
    """Return a string literal, or the empty string."""
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) else ""


def strings_deep(node: ast.expr) -> list[str]:
    """Return all string literals below a node."""
    return [
        text for each in ast.walk(node) if isinstance(each, ast.expr) and (text := text_of(each))
    ]


def identifiers(texts: Iterable[str]) -> set[str]:
    """Return the texts that are identifiers."""
    return {text for text in texts if _IDENTIFIER.match(text)}


def loaded(node: ast.expr) -> set[str]:
    """Return the last parts of all names below a node."""
    return {last_name(each) for each in ast.walk(node) if isinstance(each, ast.expr)}


def last_name(node: ast.expr) -> str:
    """Return the last part of a dotted name or of a call of it."""
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            return node.attr
        case ast.Call():
            return last_name(node.func)
        case _:
            return ""


def dotted(node: ast.expr) -> str:
    """Return a dotted name, or the empty string."""
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            owner = dotted(node.value)
            return f"{owner}.{node.attr}" if owner else ""
        case ast.Subscript():  # Generic[T]
            return dotted(node.value)
        case _:
            return ""


def raises(body: list[ast.stmt]) -> bool:
    """Return whether a block raises."""
    return any(isinstance(each, ast.Raise) for each in body)
