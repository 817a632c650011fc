"""Facts that belong together, by their family."""

from __future__ import annotations

from doctor.facts.families import (
    Requirement,
    packages_with_extensions,
    requirement_of,
    requirements,
)
from doctor.model.facts import present

FACTS = {
    "requires.torchvision.torch.met": present(False, "METADATA"),
    "requires.torchvision.torch.specifier": present("==2.12.1", "METADATA"),
    "requires.accelerate.numpy.met": present(True, "METADATA"),
    "extension.flash-attn.undefined_symbols": present(["_ZN3c10"], "a.so"),
    "extension.flash-attn.undefined_means": present("torch", "a.so"),
    "extensions.files": present(3, "site-packages"),
}


def test_requirements_are_found_with_what_they_ask_for() -> None:
    assert [*requirements(FACTS)] == [
        Requirement("accelerate", "numpy"),
        Requirement("torchvision", "torch"),
    ]
    unmet = [one for one in requirements(FACTS) if one.is_unmet(FACTS)]
    assert [one.text("specifier", FACTS) for one in unmet] == ["==2.12.1"]
    assert unmet[0].text("installed", FACTS) == ""


def test_a_fact_names_its_requirement_and_its_place_in_it() -> None:
    one = Requirement("torchvision", "torch")
    assert requirement_of(one.fact("moved")) == (one, "moved")
    assert requirement_of("package.torch.version") is None
    assert requirement_of("requires.torch") is None


def test_each_package_with_extensions_is_named_once() -> None:
    assert packages_with_extensions(FACTS) == ("flash-attn",)
