"""Say who can carry a fix out: commands for a card or a kernel are those of the machine's owner."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.model.facts import Facts, value_of
from doctor.model.fixes import Step

_OF_KERNEL = frozenset(
    (
        *("dkms", "dracut", "grubby", "modprobe", "mokutil", "reboot", "rmmod", "systemctl"),
        *("update-grub", "update-initramfs"),
    )
)
_SETTINGS = frozenset(
    (
        *("--gpu-reset", "-r", "-c", "-mig", "-cgi", "-dci", "-dgi", "-lgc", "-rgc"),
        *("-pl", "-pm", "-srs"),
    )
)
"""What nvidia-smi is told with where it changes a GPU."""
_FILES = ("/etc/modprobe.d/", "/etc/modules", "/etc/default/grub", "/etc/udev/")
_TOLD = re.compile(r"\b(?:on|of|by) the (?:host|node)\b|\bhost's\b")


def owner(facts: Facts) -> str:
    """Return who owns the machine: host, node of Kubernetes, cluster, or nobody but the reader."""
    container = value_of(facts, "host.container")
    if container:
        return "node" if container == "kubernetes" else "host"
    return "cluster" if value_of(facts, "env.SLURM_JOB_ID") is not None else ""


def for_owner(
    title: str, note: str, steps: Sequence[Step], facts: Facts
) -> tuple[str, tuple[str, ...]]:
    """Return the title and the sentences of a fix, with who carries it out and where.

    Nothing is added where nobody else owns the machine, or where the fix says it itself.
    """
    who = owner(facts) if any(_is_of_machine(one) for one in steps) else ""
    if who == "host" and not _TOLD.search(f"{title} {note}"):
        return f"On the host of this container: {title}", (note,)
    if who == "node":
        own = "" if _TOLD.search(title) else "On the node of this pod: "
        apart = "Until then `kubectl cordon` keeps new pods off the node; make this pod anew."
        return f"{own}{title}", (apart, note)
    if who == "cluster":
        apart = (
            "Until then leave this node out of new jobs: sbatch and srun take --exclude with the "
            "name that SLURMD_NODENAME holds."
        )
        return f"Ask the administrators of the cluster: {title}", (apart, note)
    return title, (note,)


def _is_of_machine(step: Step) -> bool:
    """Say whether a step changes the card or the kernel, which no container has of its own."""
    if step.reboot:
        return True
    if step.edit is not None:
        return step.edit.file.startswith(_FILES)
    return any(_changes_machine(words) for words in _commands(step))


def _commands(step: Step) -> Iterator[list[str]]:
    argv = step.command.argv if step.command is not None else ()
    if argv[:2] == ("sh", "-c") and len(argv) > 2:
        for part in re.split(r"&&|\|\||[;|]", argv[2]):
            yield part.split()
    else:
        yield list(argv)


def _changes_machine(words: Sequence[str]) -> bool:
    name = words[0].rpartition("/")[2] if words else ""
    return name in _OF_KERNEL or (name == "nvidia-smi" and not _SETTINGS.isdisjoint(words))
