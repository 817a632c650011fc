"""The recipes for statuses of libraries and services: cuBLAS, cuDNN, cuSOLVER, NCCL, MPS, NVML."""

from __future__ import annotations

from doctor.analyzers.recipes import (
    LINUX,
    code,
    command,
    container_with_gpus,
    more_shared_memory,
    variables,
)
from doctor.model.issues import Action, Recipe, Snippet
from doctor.timelines.codes import Code


def recipes_of_status(found: Code) -> tuple[Recipe, ...]:
    """Return what to do about a status of a library or a service, the best first."""
    if found.kind in _LIBRARIES:
        _, _, ending = found.name.partition("_STATUS_" if "_STATUS_" in found.name else "_")
        return _OF_LIBRARIES.get(ending, ())
    return _RECIPES.get(found.name, ())


_LIBRARIES = {"cublas", "cudnn", "cufft", "cusolver", "cusparse", "curand"}

_MEMORY = command(
    "See how much memory of the GPU is free",
    "nvidia-smi",
    look=True,
    note="These libraries take memory when they start, and say so badly when there is none. End "
    "other programs, or leave some free: a smaller batch, --gpu-memory-utilization 0.8 in vLLM, "
    "XLA_PYTHON_CLIENT_MEM_FRACTION=.7 for JAX, TF_FORCE_GPU_ALLOW_GROWTH=true for TensorFlow.",
)
_OWN_COPY = variables(
    "Start without LD_LIBRARY_PATH, so that each package loads its own libraries",
    {"LD_LIBRARY_PATH": ""},
    use_if=(LINUX, "LD_LIBRARY_PATH names a folder with CUDA libraries of another release"),
)
_ONE_BY_ONE = variables(
    "Have each kernel report its own error",
    {"CUDA_LAUNCH_BLOCKING": "1"},
    note="Run the program once more: a number outside of an embedding, or an earlier kernel, is "
    "often the cause, and the first Python frame of the program then shows it.",
    lasting=False,
)
_OLDER_BUILD = command(
    "See which GPU it is",
    "nvidia-smi",
    "--query-gpu=name,compute_cap,driver_version",
    "--format=csv",
    look=True,
    note="The libraries of CUDA 13 serve 7.5 and newer, those of CUDA 12 5.0 and newer, those of "
    "CUDA 11 3.5 and newer; 12.0 (RTX 50) needs CUDA 12.8. Take the build of the program for a "
    "CUDA that serves this one.",
)
_OF_LIBRARIES: dict[str, tuple[Recipe, ...]] = {
    **dict.fromkeys(
        (
            *("NOT_INITIALIZED", "ALLOC_FAILED", "INTERNAL_ERROR", "MAPPING_ERROR"),
            *("SETUP_FAILED", "ALLOCATION_FAILED", "INITIALIZATION_FAILED"),
        ),
        (_MEMORY, _OWN_COPY),
    ),
    **dict.fromkeys(
        ("EXECUTION_FAILED", "EXEC_FAILED", "LAUNCH_FAILURE", "INVALID_VALUE"),
        (_ONE_BY_ONE, _OWN_COPY),
    ),
    "ARCH_MISMATCH": (_OLDER_BUILD,),
    "NOT_SUPPORTED": (
        code(
            "Try the call in another type",
            "the program, for this operation",
            "model = model.float()",
            use_if=("the type is bfloat16, float16, int8 or fp8",),
            note="GPUs before Ampere (8.0) have no bfloat16, before Turing (7.5) no int8, before "
            "Ada (8.9) no fp8.",
        ),
        _OWN_COPY,
    ),
    "VERSION_MISMATCH": (_OWN_COPY,),
}

_MORE = variables(
    "Have NCCL say more",
    {"NCCL_DEBUG": "INFO"},
    note="Run the program once more on all ranks: the first line with NCCL WARN names the cause.",
    lasting=False,
)
_ONE_GPU_EACH = code(
    "Give each rank a GPU of its own",
    "the start of the program, before init_process_group",
    'torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))',
    note="The number of ranks on a machine has to be at most its number of GPUs.",
)
_MPS = command(
    "Start MPS again",
    "sh",
    "-c",
    "echo quit | nvidia-cuda-mps-control; nvidia-cuda-mps-control -d",
    use_if=(LINUX, "no other program computes on the GPUs, and MPS is wanted"),
    note="One server serves one user. A container needs --ipc=host and the folder of "
    "CUDA_MPS_PIPE_DIRECTORY (/tmp/nvidia-mps), and the same user.",
)
_WITHOUT_MPS = command(
    "Stop MPS, and use the GPU without it",
    "sh",
    "-c",
    "echo quit | nvidia-cuda-mps-control",
    use_if=(LINUX, "no other program computes on the GPUs"),
)
_LICENSE = command(
    "See the licence of the virtual GPU",
    "sh",
    "-c",
    "nvidia-smi -q | grep -i -A2 licens; systemctl status nvidia-gridd --no-pager",
    use_if=(LINUX,),
    look=True,
    note="Without a licence a virtual GPU stops to compute. The client's token lies in "
    "/etc/nvidia/ClientConfigToken.",
)
_KERNEL_LOG = command(
    "See what the kernel says of the GPU",
    "sh",
    "-c",
    "dmesg -T | grep -i -E 'NVRM|Xid' | tail -20",
    use_if=(LINUX,),
    sudo=True,
    look=True,
)
_AGAIN = command(
    "Start the machine again",
    "reboot",
    use_if=(LINUX, "it is the machine itself, no container"),
    sudo=True,
    note="Save your work first. If the GPU is lost again, look at its power, its heat and, "
    "of a card in a slot, its seat.",
)
_UVM = Recipe(
    title="Switch unified memory on for the virtual GPU",
    use_if=("the GPU is a virtual one (GRID, or a profile such as A100-40C)",),
    shown=(r"\bGRID [A-Z]{1,3}\d", r"\b(?:A|V|T|L|H)\d{1,3}[DSX]?-\d{1,3}[CQ]\b"),
    note="KVM: enable_uvm=1 in the file vgpu_params of the device. Older releases have it only for "
    "profiles with the whole GPU; see Enabling Unified Memory in NVIDIA's guide of vGPU software.",
    snippet=Snippet(
        where="the settings of the virtual machine on the host, while it is off (vSphere; the "
        "number is that of the vGPU)",
        after="pciPassthru0.cfg.enable_uvm = 1",
    ),
)
_NO_SEGMENTS = Recipe(
    title="Take torch's allocator without expandable segments",
    use_if=("PYTORCH_CUDA_ALLOC_CONF asks for expandable_segments",),
    shown=(r"expandable_segments:True",),
    note="They need virtual memory of CUDA, which WSL, Jetson and virtual GPUs may not have.",
    steps=(Action(env={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:False"}),),
)
_NO_SHARED_SEGMENTS = Recipe(
    title="Have NCCL take plain memory",
    use_if=("the call is one of NCCL",),
    shown=(r"NCCL (?:WARN|INFO|error)|ncclUnhandledCudaError",),
    steps=(Action(env={"NCCL_CUMEM_ENABLE": "0"}),),
)
_NOT_THERE = (_UVM, _NO_SEGMENTS, _NO_SHARED_SEGMENTS)
_NEWER_DRIVER = command(
    "See the driver, and the newest CUDA that it serves",
    "nvidia-smi",
    look=True,
    note="Install a newer driver on the machine (a container has that of the machine), or take "
    "the program's build for the CUDA that is shown.",
)
_REBUILD = (
    command(
        "See the compute capability of this GPU",
        *("nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv"),
        look=True,
        note="The program has no code for it, or was built without this kernel (bfloat16 needs "
        "8.0, fp8 8.9). Take its newest build, or build it for this number.",
    ),
)
_OPENCL = (
    Recipe(
        title="Install the OpenCL driver of the Intel GPU",
        use_if=(LINUX, "the GPU is one of Intel"),
        shown=(r"(?i)openvino|clDNN|intel",),
        steps=(
            Action(
                system={
                    "apt": ("intel-opencl-icd",),
                    "dnf": ("intel-opencl",),
                    "pacman": ("intel-compute-runtime",),
                }
            ),
        ),
        note="In a container install it in the image, and start it with --device /dev/dri. A GPU "
        "newer than the image needs a newer driver: take a newer image.",
    ),
    command(
        "See which drivers of OpenCL are there",
        "sh",
        "-c",
        "clinfo -l; ls /etc/OpenCL/vendors /dev/dri",
        use_if=(LINUX,),
        look=True,
        note="NVIDIA's driver brings its own: /etc/OpenCL/vendors/nvidia.icd.",
    ),
)
_RECIPES: dict[str, tuple[Recipe, ...]] = {
    "CL_PLATFORM_NOT_FOUND_KHR": _OPENCL,
    "CL_DEVICE_NOT_FOUND": _OPENCL,
    "CL_DEVICE_NOT_AVAILABLE": _OPENCL,
    "cudaErrorNotSupported": _NOT_THERE,
    "CUDA_ERROR_NOT_SUPPORTED": _NOT_THERE,
    "cudaErrorNotPermitted": (_KERNEL_LOG,),
    "cudaErrorSymbolNotFound": _REBUILD,
    "CUDA_ERROR_NOT_FOUND": _REBUILD,
    "cudaErrorInvalidKernelImage": (*_REBUILD, _NEWER_DRIVER),
    "CUDA_ERROR_INVALID_IMAGE": (*_REBUILD, _NEWER_DRIVER),
    "CUDA_ERROR_INVALID_SOURCE": (*_REBUILD, _NEWER_DRIVER),
    "cudaErrorInvalidPtx": (*_REBUILD, _NEWER_DRIVER),
    "CUDA_ERROR_INVALID_PTX": (*_REBUILD, _NEWER_DRIVER),
    "cudaErrorCallRequiresNewerDriver": (_NEWER_DRIVER,),
    "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER": (_NEWER_DRIVER,),
    "cudaErrorDeviceNotLicensed": (_LICENSE,),
    "CUDA_ERROR_DEVICE_NOT_LICENSED": (_LICENSE,),
    **dict.fromkeys(
        (
            *("cudaErrorMpsConnectionFailed", "CUDA_ERROR_MPS_CONNECTION_FAILED"),
            *("cudaErrorMpsServerNotReady", "CUDA_ERROR_MPS_SERVER_NOT_READY"),
            *("cudaErrorMpsMaxClientsReached", "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED"),
            *("cudaErrorMpsMaxConnectionsReached", "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED"),
        ),
        (_MPS, _WITHOUT_MPS),
    ),
    "ncclUnhandledCudaError": (_MORE, _ONE_GPU_EACH),
    "ncclSystemError": (_MORE, more_shared_memory("Or --ipc=host.")),
    "ncclInternalError": (_MORE, _OWN_COPY),
    "ncclInvalidArgument": (_MORE,),
    "ncclInvalidUsage": (_ONE_GPU_EACH, _MORE),
    "ncclRemoteError": (
        command(
            "See which rank failed first",
            "sh",
            "-c",
            "grep -n -i -E 'error|killed|out of memory' <logs> | head -20",
            use_if=(LINUX,),
            ask={"logs": "the logs of all ranks"},
            look=True,
            note="This rank only lost the other one, which ended before.",
        ),
        _MORE,
    ),
    "NVML_ERROR_DRIVER_NOT_LOADED": (
        command(
            "Load the driver's kernel module",
            "modprobe",
            "nvidia",
            use_if=(LINUX, "it is the machine itself, no container"),
            sudo=True,
            note="If it is not found, the driver was not built for this kernel: install the "
            "driver's package again.",
        ),
        _KERNEL_LOG,
    ),
    "NVML_ERROR_LIBRARY_NOT_FOUND": (
        container_with_gpus("Start the container with the GPUs of the machine"),
        command(
            "See whether the driver is there",
            "sh",
            "-c",
            "nvidia-smi; ldconfig -p | grep nvidia-ml",
            use_if=(LINUX,),
            look=True,
        ),
    ),
    "NVML_ERROR_GPU_IS_LOST": (_KERNEL_LOG, _AGAIN),
    "NVML_ERROR_RESET_REQUIRED": (_KERNEL_LOG, _AGAIN),
    "NVML_ERROR_IRQ_ISSUE": (_KERNEL_LOG, _AGAIN),
    "NVML_ERROR_OPERATING_SYSTEM": (_KERNEL_LOG,),
}
