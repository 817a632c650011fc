"""What to do where no GPU is reached, by build; `when` keeps what fits this machine."""

from __future__ import annotations

from doctor.model.issues import Action, Condition, Recipe, Snippet

_BARE = (Condition(fact="host.container", absent=True), Condition(fact="host.wsl", absent=True))
_NO_JETSON = (*_BARE, Condition(fact="host.jetson", absent=True))
"""A Jetson has its driver from JetPack, and no memory module."""
_STARTED_BY_HAND = Condition(fact="host.container", matches="^(?:docker|podman|container)")
_IN_CONTAINER = Condition(fact="host.container", present=True)


def _none_meant(**variables: str) -> Recipe:
    return Recipe(
        title="Say that no GPU is meant: doctor then tells it as a note",
        use_if=("this environment is for the CPU",),
        steps=(Action(env=variables),),
    )


_CUDA = (
    Recipe(
        title="Choose GPUs that this machine has",
        use_if=(
            Condition(fact="nvidia.visible_error", present=True),
            Condition(fact="env.CUDA_VISIBLE_DEVICES", present=True),
            "the first GPU is meant; nvidia-smi -L lists all of them",
        ),
        steps=(Action(env={"CUDA_VISIBLE_DEVICES": "0"}),),
        verify=("{python.executable}", "-c", "import torch; print(torch.cuda.device_count())"),
    ),
    Recipe(
        title="Start the container with its GPUs",
        use_if=(
            _IN_CONTAINER,
            Condition(fact="nvidia.device_nodes", equals=False),
            Condition(fact="nvidia.nodes_refused", absent=True),
            Condition(fact="nvidia.nodes_barred", absent=True),
        ),
        steps=(Action(run=("docker", "run", "--rm", "--gpus", "all", "<image>", "nvidia-smi")),),
    ),
    Recipe(
        title=(
            "Have the container toolkit hand in CUDA's library as well, not only what "
            "nvidia-smi needs"
        ),
        use_if=(
            _IN_CONTAINER,
            Condition(fact="nvidia.device_nodes", equals=True),
            Condition(fact="nvidia.libcuda", absent=True),
            Condition(fact="nvidia.driver_capabilities_wanted", absent=True),
        ),
        steps=(
            Action(
                run=(
                    "docker",
                    "run",
                    "--rm",
                    "--gpus",
                    "all",
                    "-e",
                    "NVIDIA_DRIVER_CAPABILITIES=compute,utility",
                    "<image>",
                    "nvidia-smi",
                )
            ),
        ),
    ),
    Recipe(
        title="Show the loader WSL's folder",
        use_if=(
            Condition(fact="host.wsl", equals=True),
            Condition(fact="nvidia.libcuda", absent=True),
        ),
        steps=(Action(env={"LD_LIBRARY_PATH": "/usr/lib/wsl/lib:$LD_LIBRARY_PATH"}),),
    ),
    Recipe(
        title="Install NVIDIA's driver, and restart",
        use_if=(
            Condition(fact="nvidia.driver_version", absent=True),
            Condition(fact="nvidia.libcuda", absent=True),
            Condition(fact="nvidia.module_file", absent=True),
            Condition(fact="host.distribution_id", equals="ubuntu"),
            *_NO_JETSON,
        ),
        steps=(Action(run=("ubuntu-drivers", "install"), sudo=True, reboot=True),),
        verify=("nvidia-smi",),
    ),
    Recipe(
        title="Load the driver's memory module, and make its device file",
        use_if=(
            Condition(fact="nvidia.uvm", equals=False),
            *_NO_JETSON,
        ),
        steps=(Action(run=("nvidia-modprobe", "-c", "0", "-u"), sudo=True),),
    ),
    Recipe(
        title=(
            "See whether the driver shows the GPUs, in which compute mode they are, and "
            "whether they are divided (MIG)"
        ),
        steps=(
            Action(run=("nvidia-smi",)),
            Action(run=("nvidia-smi", "-q", "-d", "COMPUTE")),
            Action(run=("nvidia-smi", "-L")),
        ),
        lasting=False,
    ),
    _none_meant(CUDA_VISIBLE_DEVICES="-1"),
)
_ROCM = (
    Recipe(
        title="Let this user open the GPU (groups {amd.groups_missing}), then log in again",
        use_if=(
            Condition(fact="amd.groups_missing", present=True),
            *_BARE,
        ),
        steps=(Action(run=("sh", "-c", "sudo usermod -aG render,video $USER"), sudo=True),),
        verify=("rocminfo",),
    ),
    Recipe(
        title="Start the container with the devices of the GPU",
        use_if=(
            _IN_CONTAINER,
            Condition(fact="amd.kfd", equals="missing"),
        ),
        steps=(
            Action(
                # The image may have no group of that name, and a number needs none.
                run=(
                    *("sh", "-c"),
                    (
                        "docker run --device=/dev/kfd --device=/dev/dri --group-add video "
                        '--group-add $(getent group render | cut -d: -f3) "$1"'
                    ),
                    "sh",
                    "<image>",
                )
            ),
        ),
    ),
    Recipe(
        title="Load the driver amdgpu; /dev/kfd comes with it",
        use_if=(
            Condition(fact="amd.kfd", equals="missing"),
            *_BARE,
        ),
        steps=(Action(run=("modprobe", "amdgpu"), sudo=True),),
    ),
    Recipe(
        title="See what ROCm's runtime says of the GPU",
        steps=(Action(run=("rocminfo",)),),
        lasting=False,
    ),
    _none_meant(HIP_VISIBLE_DEVICES="-1"),
)
_XPU = (
    Recipe(
        title="Let this user open the GPU (group {intel.groups_missing}), then log in again",
        use_if=(
            Condition(fact="intel.groups_missing", present=True),
            *_BARE,
        ),
        steps=(Action(run=("sh", "-c", "sudo usermod -aG render $USER"), sudo=True),),
    ),
    Recipe(
        title="Start the container with the GPU",
        use_if=(
            _IN_CONTAINER,
            Condition(fact="intel.render", equals="missing"),
        ),
        steps=(Action(run=("docker", "run", "--device", "/dev/dri", "<image>")),),
    ),
    Recipe(
        title="Install Intel's compute driver (Level Zero)",
        use_if=(
            Condition(fact="host.os", equals="linux"),
            "Ubuntu; `clinfo -l` shows no GPU",
        ),
        steps=(Action(system={"apt": ("libze1", "libze-intel-gpu1", "intel-opencl-icd")}),),
        verify=("clinfo", "-l"),
    ),
)
_SOME = (
    Recipe(
        title="See what the driver says of the GPUs, and what the kernel said when one was lost",
        steps=(
            Action(run=("nvidia-smi", "-L"), sudo=True),
            Action(run=("sh", "-c", "dmesg | grep -iE 'nvrm|xid'"), sudo=True),
        ),
        lasting=False,
    ),
)
_ANOTHER = Recipe(
    title="Use the GPUs that are free",
    use_if=(Condition(fact="nvidia.free", present=True),),
    steps=(Action(env={"CUDA_VISIBLE_DEVICES": "{nvidia.free}"}),),
    verify=("{python.executable}", "-c", "import torch; print(torch.cuda.mem_get_info())"),
)
_FULL = (
    _ANOTHER,
    Recipe(
        title="See who holds the memory, and end what is left over of your own",
        steps=(Action(run=("nvidia-smi",)),),
        lasting=False,
    ),
)
_BUSY = (
    _ANOTHER,
    Recipe(
        title="See who has the GPU; wait for that process, or end it where it is yours",
        note="Ask its owner before you end the process of somebody else.",
        steps=(Action(run=("nvidia-smi", "-q", "-d", "COMPUTE,PIDS")),),
        lasting=False,
    ),
    Recipe(
        title="Let several processes share the GPU",
        use_if=(
            Condition(fact="env.SLURM_JOB_ID", absent=True),
            Condition(fact="nvidia.compute_prohibited", absent=True),
            "the machine is yours: clusters set the mode on purpose",
        ),
        steps=(Action(run=("nvidia-smi", "-c", "DEFAULT"), sudo=True),),
    ),
)
_HAND_IN = (
    Recipe(
        title="Ask Kubernetes for a GPU in the description of the pod",
        use_if=(Condition(fact="host.container", equals="kubernetes"), "a GPU is meant"),
        note=(
            "The device plugin then chooses the GPU; to name one by NVIDIA_VISIBLE_DEVICES goes "
            "past it."
        ),
        snippet=Snippet(
            where="the container in the pod's description, beside `image`",
            after="resources: {limits: {nvidia.com/gpu: 1}}",
        ),
    ),
    Recipe(
        title="Start the container with its GPUs",
        use_if=(_STARTED_BY_HAND, "a GPU is meant"),
        steps=(Action(run=("docker", "run", "--rm", "--gpus", "all", "<image>", "nvidia-smi")),),
    ),
)
_UNAVAILABLE = (
    Recipe(
        title="See whether this is a virtual GPU, and whether it has a licence",
        steps=(Action(run=("sh", "-c", "nvidia-smi -q | grep -iE 'virtualization|license'")),),
        lasting=False,
    ),
    Recipe(
        title="See what the kernel says of the GPU",
        steps=(Action(run=("sh", "-c", "dmesg | grep -iE 'nvrm|xid'"), sudo=True),),
        lasting=False,
    ),
    Recipe(
        title="Restart the machine",
        use_if=(
            *_BARE,
            "the GPU is no virtual one",
        ),
        steps=(Action(run=("reboot",), sudo=True, reboot=True),),
        verify=("nvidia-smi",),
    ),
)

FIXES: dict[str, tuple[Recipe, ...]] = {
    "cuda": _CUDA,
    "rocm": _ROCM,
    "xpu": _XPU,
    "some": _SOME,
    "full": _FULL,
    "busy": _BUSY,
    "unavailable": _UNAVAILABLE,
    "hand in": _HAND_IN,
}
"""The fixes of each build, in order of preference.

The others are for single GPUs, and for a container that was given none.
"""
