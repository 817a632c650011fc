"""Explain AMD's kernel module (amdgpu by DKMS) that does not compile for the running kernel.

Each release of AMD's packages (rock-dkms, amdgpu-dkms) knows the kernels that its notes name. A
newer kernel, also a security update of the same line, changes functions that the module calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.findings import explanation
from doctor.analyzers.recipes import command
from doctor.model.events import Event
from doctor.model.issues import Action, Condition, Recipe

_SOURCE = re.compile(
    r"[/\\]dkms[/\\]amdgpu[\w-]{0,12}[/\\](?P<release>\d[\w.+~-]{0,40})[/\\]build[/\\]"
)
_KERNEL = re.compile(
    r"(?:for kernel|on kernel:?|lib/modules/|linux-headers-)[ ]?"
    r"(?P<kernel>\d\.\d{1,3}\.\d[\w.-]{0,40})"
)
_NAME = re.compile(
    r"(?:implicit declaration of function|has no member named|undeclared) '(\w{2,60})'"
)
_APT = Condition(fact="host.package_manager", equals="apt")


def explain(case: Case) -> Iterator[Explanation]:
    """Yield why AMD's kernel module could not be compiled."""
    for event in case.of("compile-error"):
        if found := _SOURCE.search(event.text):
            yield _explanation(case, event, found["release"])
            return


def _explanation(case: Case, event: Event, release: str) -> Explanation:
    kernel = next(
        (found["kernel"] for line in case.log.lines if (found := _KERNEL.search(line[:600]))), ""
    )
    name = _NAME.search(event.text.replace("\u2018", "'").replace("\u2019", "'"))
    gone = f": the kernel has no {name[1]}" if name else ""
    package = "rock-dkms" if _is_rock(release) else "amdgpu-dkms"
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("nvidia/*",),
        detection=explanation(
            event,
            f"AMD's kernel module amdgpu {release} does not compile for "
            f"{f'kernel {kernel}' if kernel else 'this kernel'}{gone}",
            "The module calls functions of the kernel, which change with it, also with a security "
            "update. This release of AMD's packages is older than the kernel. Headers and compiler "
            "are there, since the compiler runs.",
            (
                Recipe(
                    title=f"Update {package} to a release that knows this kernel",
                    use_if=(_APT,),
                    note="AMD's notes of each ROCm name its kernels; where the package source is "
                    "fixed to an old ROCm, point it to a newer one first.",
                    steps=(
                        Action(run=("apt-get", "update"), sudo=True),
                        Action(run=("apt-get", "install", "--only-upgrade", package), sudo=True),
                    ),
                ),
                command(
                    "Start the kernel that ran before, for which the module was built",
                    *("uname", "-r"),
                    look=True,
                    note="The advanced options of the boot menu list it. Or use the amdgpu of the "
                    "kernel itself: ROCm works with it where the kernel knows the card, and "
                    f"{package} is then not installed.",
                ),
            ),
            name="amd-module-build",
        ).detection,
    )


def _is_rock(release: str) -> bool:
    """Say whether a release is of ROCm's own numbers, before AMD joined its two packages."""
    return release.partition(".")[0] in ("1", "2", "3", "4")
