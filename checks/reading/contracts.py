"""Holds the two passes of an autograd function against each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, List, NamedTuple, Tuple

from reading.context import BackwardReader, ForwardReader, HeadAndTail, Read
from reading.functions import Doubt, Kind, Method, bodies, kinds, method, parameters
from reading.reach import Site, applied
from reading.sources import Module, Sources, place, top


class Contract(NamedTuple):
    """What an autograd function promises itself."""

    kind: Kind
    forward: Method
    backward: Method
    kept: HeadAndTail
    reads: list[Read]
    unpacks: bool
    skips: int
    inputs: int | None
    returns: int | None


class Fault(NamedTuple):
    """What is wrong with an autograd function.

    `settled` where a run that goes well would refute it.
    """

    case: str
    says: str
    settled: bool


Suspect = Tuple[Contract, List[Site], List[Fault]]


def contract(sources: Sources, kind: Kind) -> Contract | None:
    """Read what a class promises itself.

    None where torch's own forward or backward pass would run.
    """
    forward, backward, setup = (
        method(sources, kind, name) for name in ("forward", "backward", "setup_context")
    )
    if forward is None or backward is None:
        return None
    keeps = setup or forward
    given, keeping, asking = parameters(forward), parameters(keeps), parameters(backward)
    if not keeping or not asking or (setup and given[:1] == ["ctx"]):
        raise Doubt
    kept = ForwardReader(sources, keeps, keeping[0]).saved_on_ctx()
    reads, unpacks = BackwardReader(sources, backward, asking[0]).reads_from_ctx()
    arguments = forward.node.args
    fixed = not (arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults)
    skips = 0 if setup else 1
    return Contract(
        kind,
        forward,
        backward,
        kept,
        reads,
        unpacks,
        skips,
        len(given) - skips if fixed else None,
        returned(backward),
    )


def returned(backward: Method) -> int | None:
    """Count the gradients that a backward pass returns, trailing None aside where there are more.

    None where it cannot be read off.
    """
    ends = [part.value for part in bodies(backward.node) if isinstance(part, ast.Return)]
    counts = {
        len(end.elts)
        for end in ends
        if isinstance(end, ast.Tuple)
        and not any(isinstance(part, ast.Starred) for part in end.elts)
    }
    return (
        counts.pop()
        if ends and len(counts) == 1 and all(isinstance(end, ast.Tuple) for end in ends) and counts
        else None
    )


def faults(sources: Sources, held: Contract, sites: list[Site]) -> Iterator[Fault]:
    """Yield what a class that is reached promises and does not keep."""
    name, advice = held.kind.node.name, advise(held.kind)
    through = sites[0].through
    missing = [
        read
        for read in held.reads
        if read.name not in held.kept.always and apart(held.forward, read.module, read.owner)
    ]
    if missing:
        some = all(read.name in held.kept.some for read in missing)
        names = ", ".join(dict.fromkeys(f"ctx.{read.name}" for read in missing)) + (
            " on every way through it" if some else ""
        )
        at = (
            f"{place(sources, held.forward.module, held.forward.node.lineno)}, "
            f"{place(sources, missing[0].module, missing[0].line)}"
        )
        reader = (
            f"{whose(held, missing[0].module)} {missing[0].owner or held.backward.owner}.backward"
        )
        what = f"{name}.forward sets no {names}, which {reader} reads"
        yield Fault(
            "attributes",
            f"{what}: {advice}; backward() through {through} raises AttributeError ({at})",
            not some,
        )
    counts = (
        [site for site in sites if site.given is not None and accepts(held, site.given)]
        if split(held)
        else []
    )
    counts = [site for site in counts if held.returns is not None and site.given > held.returns]
    if counts:
        at = (
            f"{place(sources, counts[0].module, counts[0].line)}, "
            f"{place(sources, held.backward.module, held.backward.node.lineno)}"
        )
        returns = (
            f"{whose(held, held.backward.module)} {held.backward.owner}.backward returns "
            f"{held.returns}"
        )
        what = f"{name} is given {counts[0].given} inputs, and {returns}"
        raises = (
            f"backward() through {counts[0].through} raises RuntimeError, an incorrect number "
            f"of gradients ({at})"
        )
        yield Fault("gradient-count", f"{what}: {advice}; {raises}", True)


def whose(held: Contract, module: Module) -> str:
    """Name the package that a backward pass comes from."""
    return f"{top(module)}'s" if top(module) != top(held.forward.module) else "its base"


def apart(forward: Method, module: Module, owner: str) -> bool:
    """Say whether code belongs to another class than a forward pass, or to another package.

    Such parts may move apart.
    """
    return (owner not in ("", forward.owner)) or top(module) != top(forward.module)


def split(held: Contract) -> bool:
    """Say whether the backward pass is another class's."""
    return apart(held.forward, held.backward.module, held.backward.owner)


def accepts(held: Contract, given: int) -> bool:
    """Say whether the forward pass takes so many inputs.

    Where it does not, it is not backward that fails.
    """
    arguments = held.forward.node.args
    most = len(parameters(held.forward)) - held.skips
    return arguments.vararg is not None or most - len(arguments.defaults) <= given <= most


def advise(kind: Kind) -> str:
    """Say what to do: which packages to move."""
    packages = list(dict.fromkeys(top(module) for module, _ in kind.line))
    which = (
        f"move {' and '.join(packages)} to releases made for each other"
        if packages[1:]
        else f"move {packages[0]} to another release"
    )
    return f"to train (inference is not affected), {which}"


def made_for_training(held: Contract) -> bool:
    """Say whether the forward pass keeps anything for a backward pass that it inherits.

    Where it does not, it serves inference only.
    """
    if held.backward.owner == held.forward.owner:
        return True
    return (
        held.kept.saves
        if held.unpacks
        else any(read.name in held.kept.some for read in held.reads) or not held.reads
    )


def suspects(sources: Sources, data: dict[str, Any]) -> Iterator[Suspect]:
    """Yield the classes that break their contract or derive from another package's class."""
    aside, unclear = [], 0
    for kind in kinds(sources):
        data["functions"] += 1
        try:
            held = contract(sources, kind)
            across = len({top(module) for module, _ in kind.line}) > 1
            if held is None or not (across or any(faults(sources, held, [anywhere(held)]))):
                continue
            sites = applied(sources, kind)
            found = list(faults(sources, held, sites)) if sites else []
        except (Doubt, RecursionError):
            unclear += 1
            continue
        if sites and made_for_training(held):
            if across or found:
                yield held, sites, found
        else:
            aside.append(f"{place(sources, kind.module, kind.node.lineno)} {kind.node.name}")
    data.update(unclear=unclear, set_aside=aside[:16])


def anywhere(held: Contract) -> Site:
    """Stand for a call that nobody has looked for yet."""
    return Site(held.kind.module, 0, held.inputs, "")
