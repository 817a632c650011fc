"""Rust: the toolchain; rustc and cargo are asked for nothing but their versions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from doctor.host import CompletedCommand, Host, Termination
from doctor.host.threads import run_in_threads
from doctor.model.facts import Fact, FactStream, absent, present, unknown
from doctor.observe.cargo.toolchain import Toolchain, find_toolchain
from doctor.observe.scene import ProbeInput
from doctor.redact import without_secrets

WAITS = True
BOUND = 6.0


def probe(scene: ProbeInput, *, patience: float = 3.0) -> FactStream:
    """Yield `rust.*`; nothing is downloaded, whatever toolchain the workspace asks for."""
    found = find_toolchain(scene.host, scene.workspace)
    if found.chosen_by:
        yield (
            "rust.toolchain",
            present(found.name, found.chosen_by) if found.name else absent(found.chosen_by),
        )
    else:
        yield "rust.toolchain", absent("no rustup beside rustc")
    if found.missing:
        for name in ("rustc", "cargo"):
            yield f"rust.{name}", unknown(found.missing, found.chosen_by)
        return
    yield from _versions(scene.host, found, patience)


def _versions(host: Host, found: Toolchain, patience: float) -> Iterator[tuple[str, Fact]]:
    # cargo -vV would start lsb_release, a shell script that starts a dozen programs, to name the
    # system; its -V starts nothing.
    paths, words = {"rustc": found.rustc, "cargo": found.cargo}, {"rustc": "-vV", "cargo": "-V"}
    ran = run_in_threads(
        {
            name: partial(_ask, host, path, words[name], patience)
            for name, path in paths.items()
            if path
        }
    )
    for name, path in paths.items():
        yield (
            f"rust.{name}",
            _version(ran[name], path, patience) if path else absent(f"PATH: {name}"),
        )
    if found.cargo and _version(ran["cargo"], found.cargo, patience).value:
        yield "rust.bin", present(str(Path(found.cargo).parent), "cargo")
    triple = (
        re.search(r"^host: (\S+)$", ran["rustc"].output, re.MULTILINE) if "rustc" in ran else None
    )
    if triple:
        yield "rust.host", present(triple[1], f"{found.rustc} -vV")


def _ask(host: Host, path: str, words: str, patience: float) -> CompletedCommand:
    return host.run(
        [path, words],
        timeout=patience,
        limit=1 << 14,
        env={"RUSTUP_AUTO_INSTALL": "0"},
        cwd=Path("/"),
    )


def _version(ran: CompletedCommand, path: str, patience: float) -> Fact:
    found = re.match(r"\w+ (\d+\.\d+\.\d+\S*)", ran.output) if ran.ok else None
    if found:
        return present(found[1], f"{path} --version")
    if ran.ended is Termination.TIMEOUT:
        return unknown(f"it did not answer within {patience:g} s", path)
    said = without_secrets(ran.errors.strip() or ran.output.strip() or ran.why)[:160].partition(
        "\n"
    )[0]
    return unknown(f"exit code {ran.code}, and no version in: {said or '(nothing)'}", path)
