"""What to do where no GPU is reached, by build; `when` keeps what fits this machine."""

from __future__ import annotations

from doctor.model.issues import Condition, FixKind, Recipe

_BARE = (Condition(fact="host.container", absent=True), Condition(fact="host.wsl", absent=True))
_IN_CONTAINER = Condition(fact="host.container", present=True)


def _none_meant(**variables: str) -> Recipe:
    return Recipe(
        kind=FixKind.SET_ENV,
        title="Say that no GPU is meant: doctor then tells it as a note",
        condition="this environment is for the CPU",
        env=variables,
    )


_CUDA = (
    Recipe(
        kind=FixKind.SET_ENV,
        title="Choose GPUs that this machine has",
        when=(Condition(fact="nvidia.visible_error", present=True),),
        condition="the first GPU is meant; nvidia-smi -L lists all of them",
        env={"CUDA_VISIBLE_DEVICES": "0"},
        verify="{python.executable} -c 'import torch; print(torch.cuda.device_count())'",
    ),
    Recipe(
        kind=FixKind.CONFIGURE,
        title="Start the container with its GPUs",
        when=(_IN_CONTAINER, Condition(fact="nvidia.device_nodes", equals=False)),
        run=(("docker", "run", "--rm", "--gpus", "all", "<image>", "nvidia-smi"),),
    ),
    Recipe(
        kind=FixKind.CONFIGURE,
        title="Have the container toolkit hand in CUDA's library as well, not only what nvidia-smi needs",
        when=(
            _IN_CONTAINER,
            Condition(fact="nvidia.device_nodes", equals=True),
            Condition(fact="nvidia.libcuda", absent=True),
        ),
        run=(
            (
                "docker",
                "run",
                "--rm",
                "--gpus",
                "all",
                "-e",
                "NVIDIA_DRIVER_CAPABILITIES=compute,utility",
                "<image>",
                "nvidia-smi",
            ),
        ),
    ),
    Recipe(
        kind=FixKind.SET_ENV,
        title="Show the loader WSL's folder",
        when=(
            Condition(fact="host.wsl", equals=True),
            Condition(fact="nvidia.libcuda", absent=True),
        ),
        env={"LD_LIBRARY_PATH": "/usr/lib/wsl/lib"},
    ),
    Recipe(
        kind=FixKind.CONFIGURE,
        title="Install NVIDIA's driver, and restart",
        when=(
            Condition(fact="nvidia.driver_version", absent=True),
            Condition(fact="host.distribution_id", equals="ubuntu"),
            *_BARE,
        ),
        run=(("ubuntu-drivers", "install"),),
        sudo=True,
        reboot=True,
        verify="nvidia-smi",
    ),
    Recipe(
        kind=FixKind.CONFIGURE,
        title="Load the driver's memory module, and make its device file",
        when=(Condition(fact="nvidia.uvm", equals=False), *_BARE),
        run=(("nvidia-modprobe", "-c", "0", "-u"),),
        sudo=True,
    ),
    Recipe(
        kind=FixKind.CONFIGURE,
        title="See whether the driver shows the GPUs, in which compute mode they are, and whether they are divided (MIG)",
        run=(("nvidia-smi",), ("nvidia-smi", "-q", "-d", "COMPUTE"), ("nvidia-smi", "-L")),
        lasting=False,
    ),
    _none_meant(CUDA_VISIBLE_DEVICES="-1"),
)
_ROCM = (
    Recipe(
        kind=FixKind.CONFIGURE,
        title="Let this user open the GPU (groups {amd.groups_missing}), then log in again",
        when=(Condition(fact="amd.groups_missing", present=True), *_BARE),
        run=(("sh", "-c", "sudo usermod -aG render,video $USER"),),
        sudo=True,
        verify="rocminfo",
    ),
    Recipe(
        kind=FixKind.CONFIGURE,
        title="Start the container with the devices of the GPU",
        when=(_IN_CONTAINER, Condition(fact="amd.kfd", equals="missing")),
        run=(
            (
                "docker",
                "run",
                "--device=/dev/kfd",
                "--device=/dev/dri",
                "--group-add",
                "video",
                "--group-add",
                "render",
                "<image>",
            ),
        ),
    ),
    Recipe(
        kind=FixKind.CONFIGURE,
        title="Load the driver amdgpu; /dev/kfd comes with it",
        when=(Condition(fact="amd.kfd", equals="missing"), *_BARE),
        run=(("modprobe", "amdgpu"),),
        sudo=True,
    ),
    Recipe(
        kind=FixKind.CONFIGURE,
        title="See what ROCm's runtime says of the GPU",
        run=(("rocminfo",),),
        lasting=False,
    ),
    _none_meant(HIP_VISIBLE_DEVICES="-1"),
)
_XPU = (
    Recipe(
        kind=FixKind.CONFIGURE,
        title="Let this user open the GPU (group {intel.groups_missing}), then log in again",
        when=(Condition(fact="intel.groups_missing", present=True), *_BARE),
        run=(("sh", "-c", "sudo usermod -aG render $USER"),),
        sudo=True,
    ),
    Recipe(
        kind=FixKind.CONFIGURE,
        title="Start the container with the GPU",
        when=(_IN_CONTAINER, Condition(fact="intel.render", equals="missing")),
        run=(("docker", "run", "--device", "/dev/dri", "<image>"),),
    ),
    Recipe(
        kind=FixKind.CONFIGURE,
        title="Install Intel's compute driver (Level Zero)",
        when=(Condition(fact="host.os", equals="linux"),),
        condition="Ubuntu; `clinfo -l` shows no GPU",
        system={"apt": ("libze1", "libze-intel-gpu1", "intel-opencl-icd")},
        sudo=True,
        verify="clinfo -l",
    ),
)
_SOME = (
    Recipe(
        kind=FixKind.CONFIGURE,
        title="See what the driver says of the GPUs, and what the kernel said when one was lost",
        run=(("nvidia-smi", "-L"), ("sh", "-c", "dmesg | grep -iE 'nvrm|xid'")),
        sudo=True,
        lasting=False,
    ),
)
_FULL = (
    Recipe(
        kind=FixKind.CONFIGURE,
        title="See who holds the memory, and end what is left over; or choose another GPU with CUDA_VISIBLE_DEVICES",
        run=(("nvidia-smi",),),
        lasting=False,
    ),
)
_BUSY = (
    Recipe(
        kind=FixKind.CONFIGURE,
        title="See who has the GPU, and in which compute mode it is",
        run=(("nvidia-smi", "-q", "-d", "COMPUTE,PIDS"),),
        lasting=False,
    ),
    Recipe(
        kind=FixKind.CONFIGURE,
        title="Let several processes share the GPU",
        condition="the machine is yours: clusters set the mode on purpose",
        run=(("nvidia-smi", "-c", "DEFAULT"),),
        sudo=True,
    ),
)
_HAND_IN = (
    Recipe(
        kind=FixKind.CONFIGURE,
        title="Start the container with its GPUs",
        condition="a GPU is meant; in Kubernetes, ask for nvidia.com/gpu under resources.limits",
        run=(("docker", "run", "--rm", "--gpus", "all", "<image>", "nvidia-smi"),),
    ),
)
_UNAVAILABLE = (
    Recipe(
        kind=FixKind.CONFIGURE,
        title="See whether this is a virtual GPU, and whether it has a licence",
        run=(("sh", "-c", "nvidia-smi -q | grep -iE 'virtualization|license'"),),
        lasting=False,
    ),
    Recipe(
        kind=FixKind.CONFIGURE,
        title="See what the kernel says of the GPU",
        run=(("sh", "-c", "dmesg | grep -iE 'nvrm|xid'"),),
        sudo=True,
        lasting=False,
    ),
    Recipe(
        kind=FixKind.CONFIGURE,
        title="Restart the machine",
        when=_BARE,
        condition="the GPU is no virtual one",
        run=(("reboot",),),
        sudo=True,
        reboot=True,
        verify="nvidia-smi",
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
