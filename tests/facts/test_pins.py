"""What packages ask of each other, out of tables, where a text names versions only."""

from __future__ import annotations

import pytest

from doctor.catalog.loading import load
from doctor.facts.derive import derive
from doctor.model.facts import present, value_of

_CATALOG = load()
_HERE = {
    "host.os": "linux",
    "package.torch.installer": "pip",
    "torch.build": "cuda",
    "torch.version": "2.6.0+cu124",
}


def _derived(**told: str) -> dict[str, object]:
    facts = {
        name.replace("__", "."): present(value, "text") for name, value in {**_HERE, **told}.items()
    }
    found = derive(facts, _CATALOG)
    return {name: value_of(found, name) for name in found if name.startswith("requires.")}


@pytest.mark.parametrize(
    ("told", "pair", "met", "specifier"),
    [
        ({"package__torchvision__version": "0.20.1+cu124"}, "torchvision.torch", False, "==2.5.1"),
        ({"package__torchvision__version": "0.21.0"}, "torchvision.torch", True, "==2.6.0"),
        ({"package__torchaudio__version": "2.5.1"}, "torchaudio.torch", False, "==2.5.1"),
        ({"package__triton__version": "3.1.0"}, "torch.triton", False, "==3.2.0"),
        ({"package__triton__version": "3.2.0"}, "torch.triton", True, "==3.2.0"),
        ({"package__xformers__version": "0.0.28.post3"}, "xformers.torch", False, "==2.5.1"),
        ({"package__vllm__version": "0.8.5"}, "vllm.torch", True, "==2.6.0"),
        ({"package__vllm__version": "0.10.0"}, "vllm.torch", False, "==2.7.1"),
    ],
)
def test_a_pin_is_judged_by_its_table(
    told: dict[str, str], pair: str, met: bool, specifier: str
) -> None:
    found = _derived(**told)
    assert (found[f"requires.{pair}.met"], found[f"requires.{pair}.specifier"]) == (met, specifier)


@pytest.mark.parametrize(
    "told",
    [
        {"package__torchvision__version": "0.99.0"},
        {"package__torchvision__version": "0.20.0a0+nv24.8"},
        {"package__torchvision__version": "0.20.1", "package__torch__installer": "conda"},
        {"package__vllm__version": "0.10.3.dev12+g1a2b3c4d5"},
        {"package__vllm__version": "0.8.5", "torch__build": "rocm"},
        {"package__triton__version": "3.1.0", "host__os": "windows"},
        {"package__triton__version": "3.1.0", "torch__build": "rocm"},
        {"package__torchvision__version": "0.20.1", "requires.numpy.x.met": "metadata was read"},
    ],
)
def test_what_the_tables_do_not_know_is_not_judged(told: dict[str, str]) -> None:
    assert [name for name in _derived(**told) if name != "requires.numpy.x.met"] == []
