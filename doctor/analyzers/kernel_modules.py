"""Explain an NVIDIA kernel module that does not build, by driver and kernel.

A kernel with PREEMPT_RT exports its locks to modules under the GPL alone
(https://www.kernel.org/doc/html/latest/process/license-rules.html). The legacy branches of the
driver end with the cards that they serve (https://www.nvidia.com/en-us/drivers/unix/legacy-gpu/).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.recipes import command
from doctor.model.events import Event
from doctor.model.issues import Action, Condition, Recipe

_DRIVER = re.compile(
    r"NVIDIA-Linux-\w{1,10}-(?P<a>\d{2,3}\.[\d.]{1,12}\d)\b|[/\\]dkms[/\\]nvidia[\w-]{0,24}[/\\]"
    r"(?P<b>\d{2,3}\.[\d.]{1,12})[/\\]"
    r"|\bnvidia[a-z-]{0,12}[-/](?P<c>\d{2,3}\.[\d.]{1,12}) for kernel"
    r"|dkms (?:install|build|add)\b.{0,20}\bnvidia[\w-]{0,12}(?: -v |/)(?P<d>\d{2,3}\.[\d.]{1,12})"
    r"|\bnvidia[a-z-]{0,12}-(?P<e>\d{3}\.[\d.]{1,12}\d) DKMS files"
)
_KERNEL = re.compile(
    r"for kernel (?P<a>\d\S{3,60})|[/\\]lib[/\\]modules[/\\](?P<b>\d[^/\\\s'\"]{3,60})[/\\]"
    r"|build on kernel: (?P<c>\d\S{3,60})"
    r"|/usr/src/(?:linux-headers-|kernels/)(?P<d>\d[^/\s'\"]{3,60})(?:/(?:Makefile|scripts|arch)|')"
)
_STOPPED = re.compile(
    r"\*\*\* \[/(?:usr/src/linux-headers-|usr/src/kernels/|lib/modules/)\d[^\]]{3,160}\] Error"
)
"""What make prints for the whole of a kernel module, once one of its files did not compile."""
_REAL_TIME = re.compile(
    r"[-.]rt\d{0,4}\b|-realtime\b|PREEMPT_RT (?:kernel|is)|\bCONFIG_PREEMPT_RT=y"
)
_GPL = re.compile(
    r"GPL-incompatible module (?P<module>nvidia[\w-]{0,12})(?:\.ko)? uses GPL-only symbol "
    r"'(?P<symbol>\w{2,60})'"
)
_ERROR = re.compile(r"[/\\]([\w.+-]{1,60}):\d{1,7}(?::\d{1,6})?: (?:fatal )?error: (.{5,200})")
_IN_FOLDER = re.compile(
    r"(?:^|[ /])(?:nvidia(?:-(?:uvm|drm|modeset|peermem))?|common/inc)/[\w.+-]{1,60}\.[ch]:\d"
)
_LEGACY = {
    "304": "the GeForce 6 and 7 series",
    "340": "the GeForce 8 to 300 series",
    "390": "Fermi (GeForce 400 and 500 series)",
    "470": "Kepler (GeForce 600 and 700 series)",
}
_NEWEST = 580
"""The newest branch that each Ubuntu since 22.04 has."""
_NO_HEADERS = re.compile(
    r"(?i)kernel (?:source|headers?)\b.{0,60}(?:not found|missing|cannot be found|could not be)"
    r"|unable to (?:find|locate) the kernel source|/build: No such file"
    r"|(?:unsupported|unrecognized|different) (?:gcc|compiler)|compiler (?:version )?check failed"
    r"|cc: error: unrecognized|gcc: error: unrecognized|required key not available"
)
_OTHER_KERNEL = re.compile(
    r"(?i)zen|xanmod|liquorix|surface|lqx|cachyos|amdgpu|custom|mainline|-76\d{6}-|tkg|pve|wsl"
)
_WORKED = re.compile(
    r"(?i)(?:worked? (?:\w+ )?(?:on|with)|fine (?:on|with)|properly on|back to)"
    r" (?:the )?(?:linux )?kernel (?P<kernel>\d\S{3,60})"
)
_LONGEST = 2000


def is_module_source(case: Case, event: Event) -> bool:
    """Say whether an error stands in the sources of the NVIDIA kernel module.

    kbuild names them from the folder of the build, which only the first lines of the log tell.
    """
    if _DRIVER.search(event.text) or "/usr/src/nvidia" in event.text:
        return True
    built = next(case.of("kernel-module-build"), None) is not None
    return built and _IN_FOLDER.search(event.text) is not None


def explain(case: Case) -> Iterator[Explanation]:
    """Yield why the NVIDIA kernel module could not be built."""
    event = next(case.of("kernel-module-build"), None) or _stopped(case)
    if event is not None and (found := _explanation(case, event)) is not None:
        yield found


def _stopped(case: Case) -> Event | None:
    """Return the end of a module's build, in a log without the lines of DKMS around it."""
    return next((one for one in case.of("build-stopped") if _STOPPED.search(one.text)), None)


def _explanation(case: Case, event: Event) -> Explanation | None:
    lines = [line[:_LONGEST] for line in case.log.lines[:20_000]]
    driver, kernel = _first(_DRIVER, lines), _first(_KERNEL, lines)
    gpl = next((found for line in lines if (found := _GPL.search(line))), None)
    refused = any("is a PREEMPT_RT kernel" in line for line in lines)
    if _REAL_TIME.search(kernel) or refused or (gpl and any(map(_REAL_TIME.search, lines))):
        return _real_time(event, driver, kernel, gpl)
    branch = driver.partition(".")[0]
    error = next(
        (
            found
            for line in lines
            if (_DRIVER.search(line) or _IN_FOLDER.search(line)) and (found := _ERROR.search(line))
        ),
        None,
    )
    if branch in _LEGACY:
        return _legacy(event, driver, kernel, f"{error[1]}: {error[2]}" if error else "")
    if any(_NO_HEADERS.search(line) for line in lines) or not (driver and kernel):
        return None
    if error is None and _MADE_FOR.match(kernel):
        return _old_kernel(event, driver, kernel)
    return _newer_kernel(case, event, driver, kernel, f"{error[1]}: {error[2]}" if error else "")


def _first(pattern: re.Pattern[str], lines: list[str]) -> str:
    for line in lines:
        if found := pattern.search(line):
            said = next(one for one in found.groups() if one).rstrip(".,;)'\"`")
            # Debian keeps what all variants of a kernel share in a folder of its own.
            return said.removesuffix("-common")
    return ""


def _older_kernel(title: str, kernel: str, use_if: tuple[str, ...] = ()) -> Recipe:
    return command(
        title,
        *("uname", "-r"),
        use_if=use_if,
        look=True,
        note="Choose another kernel under the advanced options of the boot menu; the command then "
        f"shows another one than {kernel or 'now'}.",
    )


def _real_time(event: Event, driver: str, kernel: str, gpl: re.Match[str] | None) -> Explanation:
    name = f"driver {driver}" if driver else "the driver"
    symbol = f": {gpl['symbol']} is for modules under the GPL alone" if gpl else ""
    return explanation(
        event,
        f"The NVIDIA module does not build for a real-time kernel ({kernel or 'PREEMPT_RT'})"
        + symbol,
        f"With PREEMPT_RT the kernel replaces its locks by others, which "
        f"{gpl['module'] + ' of ' if gpl else ''}{name} may not use. Messages about nvidia-uvm "
        "follow from it: without that module there is no CUDA, so leaving it out does not help.",
        (
            Recipe(
                title="Install the distribution's own kernel, start it, and install the driver "
                "there",
                use_if=(Condition(fact="host.distribution_id", equals="ubuntu"),),
                steps=(Action(system={"apt": ("linux-generic",)}, reboot=True),),
                note="Choose the kernel without -rt in the boot menu.",
            ),
            _older_kernel("Start the kernel without -rt, and install the driver there", kernel),
        ),
        name="kernel-module-build",
    )


def _newer_kernel(case: Case, event: Event, driver: str, kernel: str, error: str) -> Explanation:
    """Explain a driver of a living branch that does not build for a newer kernel."""
    lines = [line[:_LONGEST] for line in case.log.lines[:20_000]]
    worked = next((one["kernel"] for line in lines if (one := _WORKED.search(line))), "")
    older = f"kernel {worked}" if worked and worked != kernel else "the kernel before"
    branch = driver.partition(".")[0]
    if kernel.endswith("-pve"):
        return _of_proxmox(event, driver, kernel, error)
    debian = case.context.distribution.startswith("Debian") or "+deb" in kernel + driver
    # nvidia-current is the name that Debian's own package gives the module.
    debian = debian or "-amd64" in kernel or "nvidia-current/" in event.text
    recipes = [_older_kernel(f"Start {older}, and keep it until the driver knows this one", kernel)]
    if debian:
        recipes.append(
            command(
                "Take the newest driver that Debian has for this release, then build again",
                *("sh", "-c", "apt-get update && apt-get install -y nvidia-kernel-dkms"),
                sudo=True,
                note="Point releases bring drivers for their newer kernels, and backports newer "
                "ones (apt-get install -t <release>-backports nvidia-driver).",
            )
        )
    elif int(branch) < _NEWEST and "-generic" in kernel:
        recipes.append(
            Recipe(
                title="Install a driver of a newer branch, which knows this kernel",
                use_if=(
                    Condition(fact="host.package_manager", equals="apt"),
                    "the GPU is not older than Maxwell (GTX 900)",
                ),
                steps=(Action(system={"apt": (f"nvidia-driver-{_NEWEST}",)}, reboot=True),),
                note="RTX 50 needs the one that ends in -open.",
            )
        )
    else:
        recipes.append(
            command(
                f"See which drivers the distribution has beside {branch}, and take a newer one",
                *("sh", "-c", "apt-cache search --names-only 'nvidia-driver-[0-9]+$' | sort -V"),
                use_if=(Condition(fact="host.package_manager", equals="apt"),),
                look=True,
                note=f"A release of branch {branch} or later that is newer than {driver}, and "
                "than this kernel, knows it. RTX 50 needs one that ends in -open.",
            )
        )
    return _too_old(event, driver, kernel, error, tuple(recipes))


_MADE_FOR = re.compile(r"[34]\.\d")
"""Kernels that each living branch of the driver knows, so that another reason stopped the build."""


def _old_kernel(event: Event, driver: str, kernel: str) -> Explanation:
    """Explain a module that does not build for a kernel that is not newer than its driver."""
    return explanation(
        event,
        f"The module of the NVIDIA driver {driver} does not compile for kernel {kernel}",
        "The first error stands far above, in /var/log/nvidia-installer.log: mostly another gcc "
        "than the one that built the kernel, or memory that ran out while many files compiled at "
        "once. --no-unified-memory leaves nvidia-uvm out, and without that module there is no "
        "CUDA.",
        (
            command(
                "See the first error of the build",
                *("grep", "-n", "-m", "12", "-i", "-E"),
                *("error|killed|cannot allocate|unrecognized", "/var/log/nvidia-installer.log"),
                look=True,
                note="Killed or Cannot allocate memory: add swap, or build with fewer jobs "
                "(installer option --concurrency-level=1). An error in a file of the module: a "
                "newer driver of a branch that still serves the card.",
            ),
            Recipe(
                title="Install a newer driver from the distribution, built for its kernels",
                use_if=(Condition(fact="host.package_manager", equals="apt"),),
                steps=(
                    Action(run=("nvidia-uninstall",), sudo=True),
                    Action(run=("ubuntu-drivers", "install"), sudo=True, reboot=True),
                ),
                note="The first command removes what NVIDIA's installer left. On a server "
                "ubuntu-drivers install --gpgpu.",
            ),
        ),
        name="kernel-module-build",
    )


def _of_proxmox(event: Event, driver: str, kernel: str, error: str) -> Explanation:
    pin = Recipe(
        title="Pin an older kernel of Proxmox VE, which this driver knows, and restart",
        note="Its headers (proxmox-headers- and the release) are needed too; DKMS then builds the "
        "module for it.",
        steps=(
            Action(run=("proxmox-boot-tool", "kernel", "list")),
            Action(run=("proxmox-boot-tool", "kernel", "pin", "<kernel>"), reboot=True),
        ),
        ask={"kernel": f"one of the list that is older than {kernel}, such as a 6.14 or 6.8"},
    )
    newer = Recipe(
        title=f"Install a driver of branch {max(_NEWEST, int(driver.partition('.')[0]))} or later "
        "from NVIDIA's repository for Debian",
        use_if=("the GPU is a Turing or newer (GTX 16, RTX 20, T4)",),
        note="An older card takes cuda-drivers-580. NVIDIA's page of CUDA downloads shows how to "
        "set the repository up (cuda-keyring). Remove Debian's own packages of the driver first.",
        steps=(
            Action(run=("apt-get", "update"), sudo=True),
            Action(system={"apt": ("cuda-drivers",)}, reboot=True),
        ),
    )
    return _too_old(event, driver, kernel, error, (pin, newer))


def _too_old(
    event: Event, driver: str, kernel: str, error: str, recipes: tuple[Recipe, ...]
) -> Explanation:
    return explanation(
        event,
        f"The NVIDIA driver {driver} does not build for kernel {kernel}",
        "The module is compiled for each kernel, and this driver is older than the changes inside "
        "this one."
        + (" It is no kernel of the distribution." if _OTHER_KERNEL.search(kernel) else "")
        + (f" The first error is {error}." if error else " make.log holds the first error.")
        + " nvidia-smi fails until the module is there.",
        recipes,
        name="kernel-module-build",
        contradicts=("nvidia/driver-not-loaded",),
    )


def _legacy(event: Event, driver: str, kernel: str, error: str) -> Explanation:
    branch = driver.partition(".")[0]
    fedora = ".fc" in kernel
    here = f" for kernel {kernel}" if kernel else ""
    packages = (
        Recipe(
            title=f"Install the {branch} driver of RPM Fusion, which is patched for newer kernels",
            use_if=("the repository rpmfusion-nonfree is set up",),
            steps=(Action(system={"dnf": (f"akmod-nvidia-{branch}xx",)}, reboot=True),),
            note="Remove the driver that DKMS or NVIDIA's installer brought first.",
        ),
    )
    return explanation(
        event,
        f"The NVIDIA driver {driver} does not build{here}: its branch knows no newer kernels",
        f"Branch {branch} is the last that serves {_LEGACY[branch]}, and NVIDIA no longer changes "
        "it: a newer driver does not serve the card, and other headers or another gcc do not "
        "help." + (f" The first error is {error}." if error else ""),
        (
            *(packages if fedora and branch != "304" else ()),
            _older_kernel("Start an older kernel that the driver was made for", kernel, ()),
            command(
                "See which card it is, and whether the open driver nouveau serves it",
                "lspci",
                "-nnk",
                "-d",
                "10de:",
                look=True,
                note="nouveau shows the screen without this driver; CUDA it has none.",
            ),
        ),
        name="kernel-module-build",
    )
