"""Complete a torch that a pasted text names without its build, by the published builds."""

from __future__ import annotations

from doctor.base.versions import parse
from doctor.facts.conditions import lookup
from doctor.facts.derive.arch import beyond
from doctor.facts.derive.making import SOURCE
from doctor.facts.families import TableCell
from doctor.model.facts import Facts, FactStream, State, absent, present, value_of

_TABLE = "compat/torch-cuda"


def published_build(facts: Facts) -> FactStream:
    """Yield the CUDA of a torch whose text leaves it open.

    PyPI has one build of each release for Linux. A CUDA that the text names alone is torch's where
    it is the newest of that release: an older one may be the toolkit's, a newer one the driver's.
    """
    release = parse(str(value_of(facts, "torch.version") or ""))
    named = value_of(facts, "text.cuda_version")
    newest = value_of(facts, TableCell("torch-cuda", "newest").fact("wanted"))
    yield "torch.newest_cuda", present(newest, _TABLE) if newest else absent(SOURCE)
    is_open = (
        lookup("torch.cuda_version", facts).state is State.UNKNOWN
        and value_of(facts, "torch.build") in (None, "cuda")
        and release is not None
        and not (release.local or release.is_prerelease)
    )
    if not is_open:
        return
    cuda = named if named == newest and value_of(facts, "text.names_gpu") else None
    if cuda is None and value_of(facts, "text.torch_of_pypi"):
        cuda = value_of(facts, TableCell("torch-cuda", "pypi").fact("wanted"))
    if cuda is not None:
        yield "torch.cuda_version", present(cuda, _TABLE)
        yield "torch.build", present("cuda", _TABLE)


def without_build(facts: Facts) -> FactStream:
    """Yield the GPUs that no published build of a torch knows, whichever build it is."""
    newest = value_of(facts, "torch.newest_cuda")
    here = value_of(facts, "nvidia.capabilities")
    is_open = lookup("torch.cuda_version", facts).state is State.UNKNOWN
    own = value_of(facts, "python.conda") or value_of(facts, "torch.build") not in (None, "cuda")
    names = isinstance(here, list | tuple) and all(isinstance(one, str) for one in here)
    left = beyond(str(newest), here) if newest and here and names and is_open and not own else []
    yield "gpu.newer_than_release", present(left, SOURCE) if left else absent(SOURCE)
