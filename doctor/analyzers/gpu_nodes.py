"""Explain why a node offers no GPU: NVIDIA's hook, the device plugin, the GPU operator, MIG."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import LINUX, command, variables
from doctor.analyzers.texts import Text, explained
from doctor.model.issues import Action, Recipe
from doctor.model.scales import Severity


def explain(case: Case) -> Iterator[Explanation]:
    """Yield why a node offers no GPU."""
    yield from explained(case, _TABLE)


_RUNTIME = Recipe(
    title="Make NVIDIA's runtime that of containerd on the node",
    use_if=(LINUX, "nvidia-smi works on the node, which runs containerd"),
    steps=(
        Action(
            run=(
                *("nvidia-ctk", "runtime", "configure", "--runtime=containerd"),
                "--set-as-default",
            ),
            sudo=True,
        ),
        Action(run=("systemctl", "restart", "containerd"), sudo=True),
    ),
    note="Docker: --runtime=docker, and restart docker. K3s and RKE2 find the runtime themselves: "
    "there the pod, and the plugin, name runtimeClassName: nvidia.",
)
_ON_THE_NODE = command(
    "See whether the driver and the runtime are there, on the node",
    "sh",
    "-c",
    "nvidia-smi -L; nvidia-ctk --version; grep -rn nvidia /etc/containerd /etc/docker | head",
    use_if=(LINUX,),
    look=True,
)
_OWN_DRIVER = command(
    "Have the operator use the driver of the node",
    *("helm", "upgrade", "--install", "gpu-operator", "nvidia/gpu-operator", "-n", "gpu-operator"),
    *("--reuse-values", "--set", "driver.enabled=false"),
    use_if=("nvidia-smi works on the node itself",),
    note="helm list -n gpu-operator shows the name of the release where it is another one.",
)
_TOOLKIT = Recipe(
    title="Install the whole NVIDIA Container Toolkit again, and restart Docker",
    use_if=(LINUX,),
    steps=(
        Action(
            system={
                "apt": ("nvidia-container-toolkit",),
                "dnf": ("nvidia-container-toolkit",),
                "zypper": ("nvidia-container-toolkit",),
                "pacman": ("nvidia-container-toolkit",),
            }
        ),
        Action(run=("nvidia-ctk", "runtime", "configure", "--runtime=docker"), sudo=True),
        Action(run=("systemctl", "restart", "docker"), sudo=True),
    ),
    note="It replaces nvidia-docker2 and nvidia-container-runtime; its package source is described "
    "in NVIDIA's installation guide.",
)
_TABLE: dict[str, Text] = {
    "compose-option-unknown": Text(
        "This docker-compose does not know the option {option}",
        "The word runtime for all formats of the file came with 1.27, devices with 1.28. Older "
        "releases know runtime in files of version 2.3 and 2.4 only. Compose V2 is a part of "
        "Docker: docker compose, without the dash.",
        (
            command(
                "Start it by Compose V2",
                *("docker", "compose", "up", "-d"),
                note="Where that is unknown, install the package docker-compose-plugin of Docker's "
                "own package source, or docker-compose-v2 of Ubuntu.",
            ),
            command("See the installed releases", "docker-compose", "--version", look=True),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "nvidia-hook-missing": Text(
        "Docker asks for {file}, which is not installed",
        "The settings of Docker name NVIDIA's runtime, and a part of the NVIDIA Container Toolkit "
        "is missing: an update replaced one package of it, or it was removed.",
        (_TOOLKIT,),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "nvidia-hook-direct": Text(
        "The toolkit is set to the mode cdi, in which --gpus does not work",
        "--gpus calls the hook itself, and with the mode cdi only NVIDIA's runtime may do that.",
        (
            command(
                "Start the container by NVIDIA's runtime",
                *("docker", "run", "--rm", "--runtime=nvidia", "-e", "NVIDIA_VISIBLE_DEVICES=all"),
                *("<image>", "nvidia-smi"),
                ask={"image": "the image of the program"},
                note="In a compose file: runtime: nvidia and NVIDIA_VISIBLE_DEVICES=all in the "
                "place of deploy.resources.",
            ),
            command(
                "Put the mode back",
                *("nvidia-ctk", "config", "--in-place", "--set"),
                "nvidia-container-runtime.mode=auto",
                use_if=(LINUX,),
                sudo=True,
                note="Then restart Docker.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "plugin-without-driver": Text(
        "The device plugin finds no driver: its container was started without NVIDIA's runtime",
        "The plugin asks the driver's library (NVML) for the GPUs. It is not in its container, "
        "because the container runtime of the node is not NVIDIA's, or there is no driver.",
        (_RUNTIME, _ON_THE_NODE),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "driver-in-use": Text(
        "The operator cannot replace the driver of the node, since something uses it",
        "The node has a driver of its own that is loaded (a screen, a service, a pod uses it), and "
        "the operator wants to install another one in a container.",
        (
            _OWN_DRIVER,
            command(
                "See what uses the driver, on the node",
                "sh",
                "-c",
                "lsof /dev/nvidia* | head -20; lsmod | grep nvidia",
                use_if=(LINUX,),
                sudo=True,
                look=True,
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "operator-no-kernel": Text(
        "The driver container finds no headers for the kernel of the node",
        "It builds the driver for the running kernel, and its package source does not have the "
        "headers of that kernel: a kernel that is too new, too old or not of the distribution.",
        (
            _OWN_DRIVER,
            command("See the kernel, on the node", "uname", "-r", use_if=(LINUX,), look=True),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "operator-waits": Text(
        "The pod waits for another part of the GPU operator",
        "The parts start in order: driver, container toolkit, validation, plugin. The pod that "
        "does not become ready first has the reason in its log.",
        (
            command(
                "See which part is not ready",
                *("kubectl", "get", "pods", "-n", "gpu-operator", "-o", "wide"),
                look=True,
                note="Then kubectl logs of the first one of driver, toolkit and validator that "
                "fails, with --all-containers.",
            ),
            _ON_THE_NODE,
        ),
        severity=Severity.NOTE,
    ),
    "ucx-device": Text(
        (
            "MPI does not start: UCX cannot use the network device {device} ({why})",
            "MPI does not start: UCX finds no way to the other processes ({why})",
        ),
        "Open MPI takes UCX where it is there, and UCX tries InfiniBand. The device is not usable "
        "from this process: it is down, or the container has not got it.",
        (
            variables(
                "Have Open MPI do without UCX",
                {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader,tcp"},
                note="That serves processes on one machine, and slow networks. TensorRT-LLM and "
                "mpi4py start MPI even for one process.",
            ),
            variables(
                "Have UCX leave InfiniBand alone",
                {"UCX_TLS": "tcp,self,sm"},
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "mig-no-room": Text(
        "The GPU has no room for this MIG instance: {why}",
        "Instances take fixed slices. Those that exist, or their places, leave no room for this "
        "profile, or the GPU has no such profile.",
        (
            command(
                "See the profiles, with how many of each are still free",
                *("nvidia-smi", "mig", "-lgip"),
                look=True,
            ),
            command("See the instances that exist", *("nvidia-smi", "mig", "-lgi"), look=True),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "mig-in-use": Text(
        "MIG cannot be changed while something uses the GPU",
        "A process, a monitoring service (dcgm, nvsm, nvidia-persistenced) or a container holds "
        "the GPU. On Ampere the change of the mode also needs a reset of the GPU.",
        (
            command(
                "See what uses the GPU",
                "sh",
                "-c",
                "nvidia-smi; lsof /dev/nvidia* | head -20",
                use_if=(LINUX,),
                sudo=True,
                look=True,
                note="Stop these programs and services, change MIG, and start them again.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
}
