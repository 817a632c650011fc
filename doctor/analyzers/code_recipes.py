"""The recipes for numbered errors, by the name of the code."""

from __future__ import annotations

from functools import lru_cache

from doctor.analyzers.recipes import LINUX, code, command, container_with_gpus, variables
from doctor.analyzers.status_recipes import recipes_of_status
from doctor.model.issues import Recipe, Snippet
from doctor.model.reference import Fault
from doctor.timelines.codes import Code


def recipes_for(found: Code) -> tuple[Recipe, ...]:
    """Return what to do about a code, the best first."""
    name = _SAME.get(found.name, found.name)
    if known := _RECIPES.get(name) or recipes_of_status(found):
        return known
    asked = found.kind in ("cuda", "cuda-driver") and found.fault is Fault.PROGRAM
    return _blocking() if found.sticky or asked else ()


_SAME = {
    "CUDA_ERROR_NO_DEVICE": "cudaErrorNoDevice",
    "CUDA_ERROR_INVALID_DEVICE": "cudaErrorInvalidDevice",
    "CUDA_ERROR_OUT_OF_MEMORY": "cudaErrorMemoryAllocation",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "cudaErrorSystemDriverMismatch",
    "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE": "cudaErrorCompatNotSupportedOnDevice",
    "CUDA_ERROR_SYSTEM_NOT_READY": "cudaErrorSystemNotReady",
    "CUDA_ERROR_OPERATING_SYSTEM": "cudaErrorOperatingSystem",
    "CUDA_ERROR_UNKNOWN": "cudaErrorUnknown",
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": "cudaErrorUnsupportedPtxVersion",
    "CUDA_ERROR_JIT_COMPILER_NOT_FOUND": "cudaErrorJitCompilerNotFound",
    "CUDA_ERROR_NOT_INITIALIZED": "cudaErrorInitializationError",
    "CUDA_ERROR_STUB_LIBRARY": "cudaErrorStubLibrary",
    "CUDA_ERROR_ILLEGAL_ADDRESS": "cudaErrorIllegalAddress",
    "CUDA_ERROR_LAUNCH_FAILED": "cudaErrorLaunchFailure",
    "CUDA_ERROR_ASSERT": "cudaErrorAssert",
    "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED": "cudaErrorSharedObjectInitFailed",
    "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED": "cudaErrorPeerAccessUnsupported",
    "CUDA_ERROR_DEVICE_UNAVAILABLE": "cudaErrorDevicesUnavailable",
}


@lru_cache(maxsize=1)
def _blocking() -> tuple[Recipe, ...]:
    return (
        variables(
            "Have each kernel report its own error",
            {"CUDA_LAUNCH_BLOCKING": "1"},
            note="Run the program once more: the traceback then names the call that failed.",
            lasting=False,
        ),
        command(
            "Have compute-sanitizer name the kernel and the address",
            "compute-sanitizer",
            "{python.executable}",
            "<script>",
            note="It is a part of the CUDA toolkit, and slows the program down a lot.",
            ask={"script": "the program that fails, made small"},
            look=True,
        ),
    )


def _no_compat() -> Recipe:
    return variables(
        "Load the driver's own libcuda instead of a compat library",
        {"LD_LIBRARY_PATH": ""},
        use_if=(LINUX, "LD_LIBRARY_PATH names a folder cuda/compat"),
        note="In an image whose ldconfig names /usr/local/cuda/compat, remove the package "
        "cuda-compat. With another driver or GPU, take an image for the CUDA that it serves.",
    )


_LOOK = command("See whether the driver answers, and which GPUs it shows", "nvidia-smi", look=True)
_DEVICE_FILES = command(
    "See the device files of the driver",
    "sh",
    "-c",
    "ls -l /dev/nvidia*",
    use_if=(LINUX,),
    note="/dev/nvidia0, /dev/nvidiactl and /dev/nvidia-uvm have to be there and readable.",
    look=True,
)
_IN_CONTAINER = container_with_gpus("Give the container its GPUs")
_IN_COMPOSE = Recipe(
    title="Give the service its GPUs",
    use_if=("Docker Compose starts it",),
    shown=(
        r"\w {2,20}\| .{0,60}ERROR",
        r"\w {2,20}\| .{0,60}INFO",
        r"docker-compose\.ya?ml",
    ),
    note="Each service that computes needs it, not only the first. Then docker compose up -d.",
    snippet=Snippet(
        where="the compose file, below the service",
        after=(
            "deploy:\n"
            "  resources:\n"
            "    reservations:\n"
            "      devices:\n"
            "        - driver: nvidia\n"
            "          count: all\n"
            "          capabilities: [gpu]"
        ),
    ),
)
_LOAD_UVM = command(
    "Load the driver's memory module and make its device files",
    "nvidia-modprobe",
    "-u",
    "-c=0",
    use_if=(LINUX, "it is the machine itself, no container"),
    sudo=True,
)
_VISIBLE = variables(
    "Let the program see the first GPU",
    {"CUDA_VISIBLE_DEVICES": "0"},
    use_if=("nvidia-smi lists a GPU 0",),
    note="In a container started with one GPU, that GPU has the number 0.",
)
_REBOOT = command(
    "Start the machine again, so that the new kernel module is loaded",
    "reboot",
    use_if=(LINUX, "the driver was updated since the last start"),
    sudo=True,
    note="Save your work first. In a container, the host is what has to start again.",
)
_FOR_THIS_GPU = (
    command(
        "Build it again for the compute capability of this GPU, in an empty folder",
        *("cmake", "-B", "build", "-DCMAKE_CUDA_ARCHITECTURES=<architecture>"),
        note="Where the project sets the architecture itself (CMAKE_CUDA_ARCHITECTURES, -arch, "
        "-gencode), write the number there. An extension of torch reads TORCH_CUDA_ARCH_LIST.",
        ask={
            "architecture": "what nvidia-smi --query-gpu=compute_cap --format=csv prints, without "
            "the point: 61 for a GTX 10, 75 for an RTX 20, 80 for an A100, 86 for an RTX 30"
        },
    ),
    command(
        "See the compute capability of this GPU",
        *("nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv"),
        look=True,
    ),
)
_RECIPES: dict[str, tuple[Recipe, ...]] = {
    "cudaErrorInvalidDeviceFunction": _FOR_THIS_GPU,
    "cudaErrorInsufficientDriver": (
        command(
            "See the driver, and the newest CUDA that it serves",
            "nvidia-smi",
            note="Where it shows none, install the driver (in a cluster: on the node; a container "
            "has to be started with the GPUs). Where it shows an older CUDA than the program's, "
            "install a newer driver, or take the program's build for that CUDA.",
            look=True,
        ),
        _IN_CONTAINER,
    ),
    "cudaErrorNoDevice": (_IN_COMPOSE, _LOOK, _VISIBLE, _IN_CONTAINER, _DEVICE_FILES),
    "cudaErrorInvalidDevice": (
        command("See the numbers of the GPUs that are there", "nvidia-smi", "-L", look=True),
        _VISIBLE,
    ),
    "cudaErrorInitializationError": (
        _LOOK,
        code(
            "Start child processes that use CUDA by spawn",
            "the start of the program, before CUDA is used",
            'torch.multiprocessing.set_start_method("spawn")',
            use_if=("a child process uses CUDA",),
        ),
    ),
    "cudaErrorOperatingSystem": (_DEVICE_FILES, _LOAD_UVM, _IN_CONTAINER),
    "cudaErrorUnknown": (_LOOK, _LOAD_UVM, _REBOOT),
    "cudaErrorSharedObjectInitFailed": (
        command(
            "See which libcuda.so.1 the loader finds",
            "sh",
            "-c",
            "ldconfig -p | grep libcuda.so",
            use_if=(LINUX,),
            look=True,
        ),
        _IN_CONTAINER,
        _LOOK,
    ),
    "cudaErrorSystemDriverMismatch": (_REBOOT, _no_compat(), _LOOK),
    "cudaErrorCompatNotSupportedOnDevice": (_no_compat(), _LOOK),
    "cudaErrorSystemNotReady": (
        command(
            "Start the service that configures NVSwitch",
            "systemctl",
            "enable",
            "--now",
            "nvidia-fabricmanager",
            use_if=(LINUX, "the machine has NVSwitch (HGX, DGX)"),
            note="Its package has to be of exactly the driver's version. In a container or a "
            "virtual machine, it runs on the host.",
            sudo=True,
        ),
        command("See the state of the links", "nvidia-smi", "-q", "-d", "FABRIC", look=True),
    ),
    "cudaErrorUnsupportedPtxVersion": (
        command(
            "See which CUDA the driver can serve",
            "nvidia-smi",
            note="Take a driver that serves the CUDA of the package, or a build of the package "
            "for an older CUDA.",
            look=True,
        ),
    ),
    "cudaErrorJitCompilerNotFound": (
        command(
            "See whether the driver's compiler of PTX is there",
            "sh",
            "-c",
            "ldconfig -p | grep nvidia-ptxjitcompiler",
            use_if=(LINUX,),
            note="In a container NVIDIA_DRIVER_CAPABILITIES has to hold compute.",
            look=True,
        ),
        variables(
            "Have the container get the driver's libraries for computing",
            {"NVIDIA_DRIVER_CAPABILITIES": "compute,utility"},
            use_if=("the program runs in a container",),
        ),
    ),
    "cudaErrorStubLibrary": (
        command(
            "See where the stub is taken from",
            "sh",
            "-c",
            'echo "$LD_LIBRARY_PATH"; ldconfig -p | grep libcuda.so',
            use_if=(LINUX,),
            note="Remove folders named stubs from LD_LIBRARY_PATH.",
            look=True,
        ),
    ),
    "cudaErrorDevicesUnavailable": (
        command(
            "See the compute mode and which processes use the GPU",
            "nvidia-smi",
            "-q",
            "-d",
            "COMPUTE,PIDS",
            look=True,
        ),
    ),
    "cudaErrorPeerAccessUnsupported": (
        variables(
            "Have NCCL exchange data through the memory of the machine",
            {"NCCL_P2P_DISABLE": "1", "NCCL_CUMEM_HOST_ENABLE": "0"},
            use_if=(LINUX, "the line comes from NCCL or a program with several GPUs"),
            note="Slower than direct access, which these GPUs do not have.",
        ),
        code(
            "Switch off vLLM's own all-reduce",
            "the command that starts vLLM",
            "--disable-custom-all-reduce",
            use_if=("the program is vLLM",),
        ),
        command(
            "See which GPUs reach each other",
            "nvidia-smi",
            "topo",
            "-p2p",
            "r",
            look=True,
        ),
    ),
    "cudaErrorMemoryAllocation": (
        command("See which processes hold the GPU's memory", "nvidia-smi", look=True),
    ),
}
