"""Explain drivers that are missing or too old, and containers that get no GPU."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers import rocm_devices
from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.recipes import (
    LINUX,
    another_torch,
    code,
    command,
    container_with_gpus,
    fitting,
)
from doctor.analyzers.texts import Text, explained
from doctor.model.events import Event
from doctor.model.issues import Action, Condition, Recipe
from doctor.model.scales import Severity


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what is wrong with the driver, or with the way into the container."""
    shared = {event.at for event in case.of("gpu-share-full")}
    yield from (one for one in explained(case, _TABLE) if one.event.at not in shared)
    for event in case.of("ptx-too-new"):
        yield _ptx_too_new(event)
        break
    for event in case.of("driver-too-old"):
        yield _too_old(case, event)
        break


def cuda_of(number: str) -> str:
    """Return the CUDA that a number of cudaDriverGetVersion means: 11.4 for 11040."""
    value = int(number)
    return f"{value // 1000}.{value % 1000 // 10}"


_PTX = {
    **{f"7.{minor}": f"11.{minor}" for minor in range(9)},
    **{f"8.{minor}": f"12.{minor}" for minor in range(6)},
    "8.6": "12.7",
    "8.7": "12.8",
    "8.8": "12.9",
    "9.0": "13.0",
}
"""The CUDA that each version of PTX came with (PTX ISA, Release Notes)."""


def _ptx_too_new(event: Event) -> Explanation:
    asked, known = event.objects["asked"], event.objects["known"]
    newer = f" PTX {asked} came with CUDA {_PTX[asked]}." if asked in _PTX else ""
    older = f" This ptxas is of CUDA {_PTX[known]}." if known in _PTX else ""
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"The PTX has version {asked}, and ptxas knows {known} at most",
            "The PTX was made by a newer CUDA toolkit than the ptxas or driver that reads it."
            f"{newer}{older} Use the ptxas of the toolkit that made it.",
            recipes=(command("See which ptxas is found first", "ptxas", "--version", look=True),),
        ),
        precision=Precision.EXACT,
    )


def _too_old(case: Case, event: Event) -> Explanation:
    number = event.objects.get("number", "")
    served = f" The driver serves CUDA up to {cuda_of(number)}." if number else ""
    driver = f" (it serves CUDA {cuda_of(number)} at most)" if number else ""
    tag = _tag_for(cuda_of(number)) if number else ""
    older = Recipe(
        title=f"Install a torch for a CUDA that this driver serves ({tag})",
        use_if=("the program uses torch",),
        steps=another_torch(f"https://download.pytorch.org/whl/{tag}"),
        note="Compiled extensions (flash-attn, xformers and others) have to be of the same torch.",
    )
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"The NVIDIA driver is too old for the CUDA of this program{driver}",
            f"The program was built for a newer CUDA than the driver of the machine knows.{served} "
            "A driver serves every older CUDA, so a newer driver mends it; a build for an older "
            "CUDA does as well. In a container the driver is the host's.",
            recipes=fitting(case, (_see_driver(), *((older,) if tag else ()))),
        ),
        precision=Precision.EXACT if number else Precision.FAMILY,
    )


def _tag_for(cuda: str) -> str:
    """Return the index of torch for the newest CUDA that a driver serves; none below CUDA 11."""
    major, minor = (int(part) for part in cuda.split("."))
    if major >= 13:
        return "cu130"
    if major == 12:
        # Any driver of the generation serves its later toolkits (minor version compatibility).
        return "cu126"
    return "cu118" if major == 11 and minor >= 0 else ""


def _see_driver() -> Recipe:
    return command(
        "See the driver and the newest CUDA that it serves",
        "nvidia-smi",
        note="Install a newer driver from the system's packages or NVIDIA, then start the machine "
        "again.",
        look=True,
    )


def _configure(runtime: str = "docker") -> Recipe:
    return Recipe(
        title="Make NVIDIA's runtime known to Docker",
        use_if=(LINUX, "nvidia-container-toolkit is installed"),
        steps=(
            Action(run=("nvidia-ctk", "runtime", "configure", f"--runtime={runtime}"), sudo=True),
            Action(run=("systemctl", "restart", "docker"), sudo=True),
        ),
        note="The restart stops running containers.",
    )


_TOOLKIT = Recipe(
    title="Install NVIDIA's container toolkit from NVIDIA's own package source",
    use_if=(
        LINUX,
        Condition(fact="host.package_manager", equals="apt"),
        "NVIDIA's package source is set up (docs.nvidia.com, Installing the Container Toolkit)",
    ),
    steps=(Action(system={"apt": ("nvidia-container-toolkit",)}, sudo=True),),
)
_TEST = command(
    "See whether a container gets the GPU",
    "docker",
    "run",
    "--rm",
    "--gpus",
    "all",
    "ubuntu",
    "nvidia-smi",
    look=True,
)
_HOST_DRIVER = command(
    "See whether the driver works on the host, and install its newest release where it is old",
    "nvidia-smi",
    note="If it fails there, or the image is for a newer CUDA than it names, install the newest "
    "driver of the distribution on the host and restart: a driver too old for the toolkit, and one "
    "half updated, end so. The image and CUDA inside of it do not matter.",
    look=True,
)
_TABLE: dict[str, Text] = {
    "no-driver": Text(
        "No NVIDIA driver answers on this machine, or in this container",
        "The program looked for the driver's library and found none. Either no driver is "
        "installed, there is no NVIDIA GPU, or the container was started without its GPUs.",
        (
            _see_driver(),
            container_with_gpus("Start the container with its GPUs"),
        ),
        severity=Severity.ERROR,
    ),
    "torch-for-cpu": Text(
        "This torch is a build for the processor, and the program asks for CUDA",
        "The wheel has no CUDA in it. On Windows and macOS the plain pip install torch is such "
        "a build; on Linux another package or index brought it.",
        (
            Recipe(
                title="Install a build with CUDA",
                use_if=("the machine has an NVIDIA GPU and a driver", "it is no Mac"),
                steps=another_torch("https://download.pytorch.org/whl/cu126"),
                verify=(
                    "{python.executable}",
                    "-c",
                    "import torch; print(torch.__version__, torch.cuda.is_available())",
                ),
            ),
            code(
                "Use the processor",
                "the settings of the program",
                'device = "cpu"',
                before='device = "cuda"',
                use_if=("there is no NVIDIA GPU",),
            ),
        ),
        severity=Severity.ERROR,
    ),
    "no-gpu-visible": Text(
        "The program sees no GPU",
        "torch has CUDA, and the driver shows it no GPU: CUDA_VISIBLE_DEVICES names none that "
        "exists or is empty, the container or job got none, or the driver does not answer.",
        (
            command(
                "See the GPUs and the variable",
                "sh",
                "-c",
                'nvidia-smi -L; echo "CUDA_VISIBLE_DEVICES=$CUDA_VISIBLE_DEVICES"',
                use_if=(LINUX,),
                look=True,
            ),
        ),
        severity=Severity.ERROR,
    ),
    "gpu-libraries-skipped": Text(
        "TensorFlow found no CUDA libraries and uses the processor",
        "The plain package brings no CUDA; TensorFlow looked for the libraries on the system "
        "and did not find them all.",
        (
            Recipe(
                title="Install TensorFlow with its CUDA libraries",
                use_if=(LINUX, "the machine has an NVIDIA GPU"),
                steps=(Action(install=("tensorflow[and-cuda]",)),),
            ),
        ),
        severity=Severity.WARNING,
    ),
    "no-gpu-runtime": Text(
        ("Docker does not know the runtime {runtime}", "Docker has no driver for GPUs: {what}"),
        "NVIDIA's container toolkit is not installed, or not made known to the Docker daemon "
        "in use. Docker Desktop on Linux runs in its own virtual machine and has no GPUs.",
        (
            _configure(),
            _TOOLKIT,
            command(
                "Use the native Docker Engine instead of Docker Desktop",
                "docker",
                "context",
                "use",
                "default",
                use_if=(LINUX, "docker context ls marks desktop-linux"),
            ),
            _TEST,
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "container-gpu-failed": Text(
        "NVIDIA's container toolkit cannot hand the GPU in: {said}",
        "The toolkit asks the driver of the host, and that failed. The driver of the host has "
        "to work first.",
        (
            command(
                "Load the driver's memory module on the host, and make its device file",
                "nvidia-modprobe",
                "-u",
                "-c=0",
                use_if=(LINUX,),
                sudo=True,
                note="nvidia-smi works without this module, CUDA does not. After an update of the "
                "driver or the kernel, restart the host.",
            ),
            _HOST_DRIVER,
            _TEST,
        ),
        severity=Severity.ERROR,
    ),
    "cdi-device-missing": Text(
        "The container engine knows no device {device}",
        "The list of GPUs for containers (CDI) was not made, or is older than the driver.",
        (
            Recipe(
                title="Write the list of GPUs anew",
                use_if=(LINUX,),
                unless=(r"CDI devices \S{0,40}amd\.com/",),
                steps=(
                    Action(
                        run=("nvidia-ctk", "cdi", "generate", "--output=/etc/cdi/nvidia.yaml"),
                        sudo=True,
                    ),
                ),
            ),
            Recipe(
                title="Write the list of AMD's GPUs anew",
                use_if=(LINUX, "the device is one of amd.com"),
                shown=(r"CDI devices \S{0,40}amd\.com/",),
                unless=(r"CDI devices \S{0,40}nvidia\.com/",),
                steps=(
                    Action(
                        run=("amd-ctk", "cdi", "generate", "--output=/etc/cdi/amd.json"),
                        sudo=True,
                    ),
                ),
                note="amd-ctk is part of AMD's Container Toolkit.",
            ),
        ),
        severity=Severity.ERROR,
    ),
    "docker-refused": Text(
        "This user may not talk to the Docker daemon",
        "The socket of the daemon belongs to root and the group docker.",
        (
            command(
                "Run the command as root",
                "sudo",
                "docker",
                "info",
                use_if=(LINUX,),
                look=True,
                note="Members of the group docker have the rights of root.",
            ),
        ),
        severity=Severity.ERROR,
    ),
    "docker-not-running": Text(
        "No Docker daemon answers at {socket}",
        "Docker is not running, or listens elsewhere.",
        (command("Start the daemon", "systemctl", "start", "docker", use_if=(LINUX,), sudo=True),),
        severity=Severity.ERROR,
    ),
    "wsl-gpu-blocked": Text(
        "Windows does not hand the GPU into WSL",
        "The link between WSL and the driver of Windows (/dev/dxg) does not work: an old "
        "kernel of WSL, an old driver, or WSL 1.",
        (
            command(
                "Update WSL, in PowerShell",
                "wsl.exe",
                "--update",
                note="Then wsl --shutdown, and install the newest driver in Windows. "
                "Install no driver for Linux in WSL.",
            ),
        ),
        severity=Severity.ERROR,
    ),
    "rocm-device-denied": rocm_devices.DENIED,
    "amdgpu-not-loaded": Text(
        "The kernel module amdgpu is not loaded",
        "ROCm needs the kernel module of the GPU. It is missing for this kernel, or was refused.",
        (command("Load the module", "modprobe", "amdgpu", use_if=(LINUX,), sudo=True),),
        severity=Severity.ERROR,
    ),
}
