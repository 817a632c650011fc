"""Which torch goes with the companions that are compiled apart from it.

A new torch may come before its torchaudio.
"""

from __future__ import annotations

from doctor.base.versions import minor, parse
from doctor.facts.derive.making import SOURCE, derived_fact
from doctor.facts.families import requirements
from doctor.model.catalog import Catalog
from doctor.model.facts import Facts, FactStream, absent, present, unknown


def companions(facts: Facts, catalog: Catalog) -> FactStream:
    """Yield what is known of torchaudio beside this torch."""
    names = ("torchaudio.cuda_version", "torch.cuda_version")
    yield (
        "torchaudio.fits_cuda",
        derived_fact(facts, *names, make=lambda one, torch: one == minor(torch)),
    )
    asking = [one.package for one in requirements(facts) if one.wanted == "torchaudio"]
    nobody = (
        absent(SOURCE) if "packages" in facts else unknown("nobody could list the packages", SOURCE)
    )
    yield "torchaudio.asked_by", present(asking, SOURCE) if asking else nobody
    table = catalog.tables.get("torch")
    releases = (
        [parse(str(row["torch"])) for row in table.rows if "torchaudio" in row] if table else []
    )
    newest = max((one for one in releases if one is not None), default=None)
    yield (
        "torchaudio.newest_torch",
        present(str(newest), "compat/torch") if newest else absent("compat/torch"),
    )
