# /// script
# requires-python = ">=3.8"
# dependencies = ["jax"]
#
# [tool.doctor]
# kind = "facts"
# role = "proves-jax"
# summary = "Asks JAX for its devices, computes on each, and keeps the errors of plugins"
# needs = ["jax"]
# tier = "quick"
# timeout = 120
# devices = "host"
# cases = []
# ///
"""What JAX was built for, which devices it reaches, and why none where it reaches none.

A failed result means that `import jax` fails, or that JAX lists a device and does not compute on
it. A plugin that does not start leaves JAX on the processor with a message that few people see:
that is `jax.error`, and the result is skipped. So it is where the memory of every GPU is full, or
other processes have them: JAX raises then, and only its standard error holds the driver's reason.
"""

from __future__ import annotations

import importlib.metadata
import logging
import os
import re
import sys
import traceback
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from canary_devices import BUSY, FULL
from canary_report import CaseEnded, Report
from canary_stderr import stderr_copied

REPORT = Report()
PLUGIN = re.compile(r"jax[-_](cuda|rocm|metal)\d*[-_]plugin$|jax[-_](metal)$|(libtpu)(-nightly)?$")
CHOOSING = ("JAX_PLATFORMS", "JAX_PLATFORM_NAME")
LOCAL = re.compile(r"\+(cuda|rocm)")
NATIVE = re.compile(r"CUDA_ERROR_[A-Z]|hipError[A-Z]")
"""The driver's own reason in a line of XLA."""


class HeadAndTail(logging.Handler):
    """Keeps what JAX reports while it looks for plugins."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message, with the error that it is about."""
        error = record.exc_info[1] if record.exc_info else None
        self.said.append(
            " ".join(f"{record.getMessage()}{f': {error}' if error else ''}".split())[:600]
        )


def build() -> tuple[str, str | None]:
    """Return what JAX was built for and its plugin, by the plugin's package or jaxlib's version."""
    for one in importlib.metadata.distributions():
        name, version = one.metadata["Name"] or "", one.version
        found = PLUGIN.match(name.lower())
        if found:
            kind = next(filter(None, found.groups()[:3]))
            return {"libtpu": "tpu"}.get(kind, kind), f"{name} {version}"
        local = LOCAL.search(version or "") if name.lower() == "jaxlib" else None
        if local:
            return local[1], f"jaxlib {version}"
    return "cpu", None


def why_none(jax: Any, kind: str, kept: HeadAndTail) -> str:
    """Return the error of a plugin that did not start, else the error of JAX."""
    told = [
        text
        for text in kept.said
        if "plugin" in text or "backend" in text.lower() or "CUDA" in text
    ]
    errors = (
        getattr(getattr(getattr(jax, "_src", None), "xla_bridge", None), "_backend_errors", None)
        or {}
    )
    told += [str(text) for name, text in errors.items() if name == kind]
    if told:
        return told[0]
    try:
        jax.devices(kind)
    except Exception as error:
        return " ".join(str(error).split())[:600]
    return f"JAX lists no device of {kind}"


def start(jax: Any, kind: str, kept: HeadAndTail, data: dict[str, Any]) -> list[Any]:
    """List the devices; where JAX raises, end with its reason and with the driver's."""
    lines: list[str] = []
    with REPORT.act():
        try:
            with stderr_copied(lines):
                return list(jax.devices())
        except Exception as error:
            if kind == "cpu":
                raise
            # A line of XLA begins with time, process and place in the source: `… util.cc:279] `.
            native = next(
                (line.rpartition("] ")[2][:300] for line in lines if NATIVE.search(line)), ""
            )
            told = why_none(jax, kind, kept)
            words = f"{told}: {native}" if native and native not in told else told
            REPORT.facts["jax.error"] = words
            for state, pattern in (("full", FULL), ("busy", BUSY)):
                if pattern.search(native):
                    REPORT.facts["jax.devices"] = []
                    data["state"] = state
                    raise CaseEnded("skipped", f"JAX starts on no GPU: {words}") from error
            if not native:
                raise
            traceback.print_exc()
            raise CaseEnded("failed", f"{type(error).__name__}: {error}: {native}") from error


def compute(jax: Any, device: Any, name: str) -> None:
    """Add on a device and read back."""
    numpy = sys.modules["numpy"]
    with REPORT.act():
        try:
            got = numpy.asarray(
                jax.device_put(numpy.arange(257, dtype="float32"), device) + 0.5
            ).tolist()
        except Exception as error:
            if FULL.search(str(error)):
                REPORT.results[-1]["data"]["state"] = "full"
                raise CaseEnded(
                    "skipped", f"the memory of {name} is full: {str(error).splitlines()[0][:300]}"
                ) from error
            raise
    if got != [index + 0.5 for index in range(257)]:
        raise CaseEnded("failed", f"adding 0.5 to 0, 1, 2 on {name} gave {got[:3]}")


def name_of(device: Any, kind: str) -> str:
    """Name a device the way JAX does in `jax.devices`.

    `cuda:0`, for its platform `gpu` says less.
    """
    return (
        "cpu"
        if device.platform == "cpu"
        else f"{kind if device.platform == 'gpu' else device.platform}:{device.id}"
    )


def ask(jax: Any, kind: str, plugin: str | None, kept: HeadAndTail) -> None:
    """List the devices and compute on each; where a build for GPUs has none, say why."""
    with REPORT.result(None) as data:
        REPORT.doing["case"] = "look for devices"
        found = start(jax, kind, kept, data)
        names = [name_of(device, kind) for device in found]
        if not names:
            raise CaseEnded("failed", "JAX lists no device, not even the processor")
        asked = next(
            (f"{name}={os.environ[name]}" for name in CHOOSING if os.environ.get(name)), ""
        )
        if asked and set(names) <= {"cpu"}:
            raise CaseEnded("skipped", f"{asked} keeps JAX on the processor")
        REPORT.facts["jax.devices"] = names
        if kind != "cpu" and set(names) <= {"cpu"}:
            REPORT.facts["jax.error"] = why_none(jax, kind, kept)
        for device, name in zip(found, names):
            compute(jax, device, name)
        data["told"] = [f"{plugin or 'jaxlib'}: {', '.join(names)}"]
        if REPORT.facts["jax.error"]:
            raise CaseEnded(
                "skipped", f"JAX computes on the processor: {REPORT.facts['jax.error']}"
            )


def main() -> None:
    """Ask JAX, which may take no more memory than it needs."""
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    kept = HeadAndTail()
    logging.getLogger("jax").addHandler(kept)
    jax = REPORT.load("jax")
    kind, plugin = build()
    REPORT.facts.update({"jax.build": kind, "jax.plugin": plugin, "jax.error": None})
    ask(jax, kind, plugin, kept)


if __name__ == "__main__":
    REPORT.run(main)
