"""Explain failures of GPUs by AMD, Intel and Apple, and of Vulkan."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import LINUX, MACOS, code, command, variables
from doctor.analyzers.texts import Text, explained, explanation, objects_of
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Severity

_OVERRIDES = {
    "gfx90c": "9.0.0",
    "gfx1010": "10.3.0",
    "gfx1031": "10.3.0",
    "gfx1032": "10.3.0",
    "gfx1033": "10.3.0",
    "gfx1034": "10.3.0",
    "gfx1035": "10.3.0",
    "gfx1036": "10.3.0",
    "gfx1103": "11.0.0",
}
"""The value of HSA_OVERRIDE_GFX_VERSION with which a chip runs code of its nearest relative.

gfx1031 to gfx1036 have the instructions of gfx1030 and gfx1103 those of gfx1100, and gfx1010 runs
the code of gfx1030 for most programs (LLVM, User Guide
for AMDGPU Backend, Processors: https://llvm.org/docs/AMDGPUUsage.html#processors).
"""

_NAMED = {
    **dict.fromkeys(("Renoir", "Lucienne", "Cezanne", "Barcelo"), "gfx90c"),
    "Rembrandt": "gfx1035",
    "Raphael": "gfx1036",
    "Phoenix": "gfx1103",
}
"""Chips inside processors, as lspci names them (LLVM's table of processors has the gfx)."""


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what failed on the GPU, and what to do about it."""
    yield from explained(case, _TABLE)
    crashed = case.of("killed-by-signal") if crash_in_hip(case) else ()
    for event in (*case.of("gfx-not-in-binary", "tensile-missing"), *crashed):
        gfx = event.objects.get("gfx") or _gfx_of(case)
        text = _no_code(gfx)
        if (one := explanation(case, event, text, {**objects_of(event), "gfx": gfx})) is not None:
            yield one
            return


def crash_in_hip(case: Case) -> str:
    """Return the chip on which libamdhip64 crashed for want of code; empty for no such crash.

    HIP ends by SIGSEGV at the first kernel on a chip that nothing was compiled for
    (https://github.com/ROCm/hip/issues/3282).
    """
    gfx = _gfx_of(case)
    there = gfx in _OVERRIDES and any("libamdhip64" in line for line in case.log.lines)
    return gfx if there else ""


def _gfx_of(case: Case) -> str:
    """Return the chip that the log names; empty where it names none or several."""
    found = {
        word.strip("'\",.;:()[]").partition(":")[0]
        for line in case.log.lines[:4000]
        if "gfx" in line
        for word in line[:400].replace("--", " ").replace("=", " ").split()
        if word.strip("'\",.;:()[]").startswith("gfx")
    }
    exact = {one for one in found if one[3:].isalnum() and len(one) in (6, 7)}
    exact = exact or {
        gfx
        for line in case.log.lines[:4000]
        if "AMD/ATI]" in line
        for name, gfx in _NAMED.items()
        if name in line[:400]
    }
    return exact.pop() if len(exact) == 1 else ""


_NEAR_RELATIVE = Recipe(
    title="Take the code of a relative of the same generation, once rocminfo has named the chip",
    use_if=(LINUX, "rocminfo | grep -m 2 gfx names gfx1031 to gfx1036, gfx1103 or gfx90c"),
    steps=(Action(env={"HSA_OVERRIDE_GFX_VERSION": "<version>"}),),
    ask={"version": "10.3.0 for gfx1031 to gfx1036, 11.0.0 for gfx1103, 9.0.0 for gfx90c"},
    note="gfx1010 to gfx1012 (RX 5000) have no relative: torch 2.0.1 for ROCm 5.4.2 or older, a "
    "build of the distribution or one's own serves them. A newer ROCm on the system does not "
    "help, since the code lies in the wheel.",
    lasting=False,
)


def _no_code(gfx: str) -> Text:
    override = _OVERRIDES.get(gfx)
    recipes: list[Recipe] = []
    if override:
        recipes.append(
            variables(
                f"Run the code for a relative of {gfx}",
                {"HSA_OVERRIDE_GFX_VERSION": override},
                use_if=(LINUX,),
                note="AMD does not support it, but it works for most programs.",
                lasting=False,
            )
        )
    if not gfx:
        recipes.append(_NEAR_RELATIVE)
    recipes.append(
        command(
            "See which chip the system has",
            "sh",
            "-c",
            "rocminfo | grep -m 2 gfx",
            use_if=(LINUX,),
            look=True,
        )
    )
    recipes.append(
        command(
            "See for which chips torch was built",
            "{python.executable}",
            "-c",
            "import torch; print(torch.__version__, torch.cuda.get_arch_list())",
            look=True,
        )
    )
    return Text(
        (
            "The program has no code for the AMD GPU {gfx}",
            "The program has no code for this AMD GPU",
        ),
        "A build for ROCm holds code for some chips (gfx numbers) only, and a consumer card or "
        "an APU is often not among them. With an integrated and a separate GPU, the program may "
        "have taken the wrong one: HIP_VISIBLE_DEVICES chooses.",
        tuple(recipes),
        severity=Severity.ERROR,
        precision=Precision.EXACT if gfx else Precision.FAMILY,
    )


_FALLBACK = variables(
    "Let the processor do what Metal cannot",
    {"PYTORCH_ENABLE_MPS_FALLBACK": "1"},
    use_if=(MACOS,),
    note="It has to be set before torch is imported. These steps are slower.",
    lasting=False,
)
_TABLE: dict[str, Text] = {
    "gpu-memory-fault": Text(
        (
            "A kernel on the AMD GPU (node {node}) touched memory of others: {reason}",
            "A kernel on the AMD GPU (node {node}) touched memory of others",
        ),
        "Usual causes are code for another chip (HSA_OVERRIDE_GFX_VERSION), parts of two ROCm "
        "releases in one process, memory that ran out, or an error of the kernel.",
        (
            variables(
                "Have each kernel report its own error",
                {"AMD_SERIALIZE_KERNEL": "3", "HIP_LAUNCH_BLOCKING": "1"},
                use_if=(LINUX,),
                lasting=False,
            ),
        ),
        severity=Severity.ERROR,
    ),
    "gpu-hang": Text(
        "The AMD GPU (node {node}) hangs: {reason}",
        "The driver reset the GPU, since a kernel did not end. An override of the chip, a "
        "display on the same GPU, power, or an error of the kernel are the causes.",
        (
            command(
                "See what the driver wrote",
                "sh",
                "-c",
                "dmesg | grep -i amdgpu | tail -20",
                use_if=(LINUX,),
                sudo=True,
                look=True,
            ),
        ),
        severity=Severity.ERROR,
    ),
    "hsa-error": Text(
        "The runtime of ROCm failed: {name}",
        "The layer between HIP and the driver refused a call. Access to /dev/kfd, the driver's "
        "release and the chip are what to look at.",
        (command("See what the runtime shows", "rocminfo", use_if=(LINUX,), look=True),),
        severity=Severity.ERROR,
    ),
    "miopen-failed": Text(
        "MIOpen failed: {said}",
        "MIOpen compiles or chooses kernels for convolutions. A cache that cannot be "
        "written, a "
        "missing compiler, or a chip without kernels are the causes.",
        (),
        severity=Severity.ERROR,
    ),
    "sycl-no-device": Text(
        "SYCL finds no GPU",
        "The driver of Intel's GPU (Level Zero) is not installed, or this user may not open "
        "/dev/dri/render*.",
        (
            command("See the devices that SYCL finds", "sycl-ls", use_if=(LINUX,), look=True),
            command(
                "See who may open the GPU",
                "sh",
                "-c",
                "ls -l /dev/dri; id",
                use_if=(LINUX,),
                look=True,
                note="The user has to be in the group render.",
            ),
        ),
        severity=Severity.ERROR,
    ),
    "xpu-no-device": Text(
        "torch finds no Intel GPU",
        "Either torch is no build for XPU, or the driver of Intel's GPU (Level Zero) is missing.",
        (
            command(
                "See which build it is",
                "{python.executable}",
                "-c",
                "import torch; print(torch.__version__, torch.xpu.is_available())",
                look=True,
            ),
        ),
        severity=Severity.ERROR,
    ),
    "mps-operator-missing": Text(
        "Metal has no kernel for {operator} in this torch",
        "torch does not compute this operation on the GPU of a Mac.",
        (
            _FALLBACK,
            code("Move this step to the processor", "the call", 'x.cpu().operation().to("mps")'),
        ),
        severity=Severity.ERROR,
    ),
    "mps-type": Text(
        ("Metal has no {type} numbers", "Metal has no numbers of this type"),
        "The GPU of a Mac does not compute in this type; float32 and float16 it does, and "
        "bfloat16 from macOS 14 on.",
        (
            code(
                "Use float32",
                "where the tensor is made or moved",
                'x.to(torch.float32).to("mps")',
                before='x.to("mps")',
            ),
        ),
        precision=Precision.EXACT,
    ),
    "mps-types-differ": Text(
        "Metal refuses an operation whose tensors have two types or shapes",
        "Half and single precision meet in one operation, or shapes do not fit; Metal ends "
        "the process instead of raising an error.",
        (
            code(
                "Use one precision throughout",
                "the call that loads the model",
                "torch_dtype=torch.float32",
                before="torch_dtype=torch.float16",
            ),
            _FALLBACK,
        ),
    ),
    "metal-command-buffer": Text(
        (
            "Metal did not finish the work of the program (command buffer, status {status})",
            "Metal did not finish the work of the program (command buffer)",
        ),
        "Most often the model and its context need more memory than macOS leaves to the GPU. The "
        "first such line counts: after it macOS refuses all work of the process.",
        (
            code(
                "Use a shorter context and fewer layers on the GPU",
                "the command that starts llama.cpp",
                "-c 4096 -ngl 20",
                use_if=("the program is llama.cpp",),
                note="A model that is quantized further helps as well.",
            ),
        ),
        severity=Severity.ERROR,
    ),
    "metal-language-too-new": Text(
        "The compiled Metal code is of language version {version}, and this macOS is older",
        "Metal 3.0 came with macOS 13, 3.1 with 14, 3.2 with 15 and 4.0 with 26. The wheel or the "
        "program was made for a newer macOS than the one that runs.",
        (
            Recipe(
                title="Take the wheels of MLX for this macOS",
                use_if=(MACOS, "MLX comes from pip, and not with a finished program"),
                steps=(
                    Action(
                        install=("mlx", "mlx-metal"),
                        options=(Option.UPGRADE, Option.REINSTALL, Option.NO_CACHE),
                    ),
                ),
                note="pip takes the wheel for the macOS on which it runs. A finished program needs "
                "a release for this macOS, or a newer macOS.",
            ),
            command(
                "See which macOS this machine can run",
                "softwareupdate",
                "--list-full-installers",
                use_if=(MACOS,),
                look=True,
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "metal-library": Text(
        "The Metal library of the program was not found or does not compile",
        "The compiled shaders (default.metallib) do not lie beside the program. swift build "
        "does not compile them, and a copied binary loses them.",
        (
            Recipe(
                title="Build with Xcode, which compiles the shaders",
                use_if=(MACOS, "the program is a Swift package"),
                steps=(
                    Action(
                        run=(
                            "xcodebuild",
                            "build",
                            "-scheme",
                            "<scheme>",
                            "-destination",
                            "platform=macOS",
                        )
                    ),
                ),
                ask={"scheme": "the scheme that xcodebuild -list shows"},
            ),
        ),
        severity=Severity.ERROR,
    ),
    "mps-system-too-old": Text(
        "This needs macOS {wanted} or newer",
        "The operation or the backend uses a part of Metal that older systems lack.",
        (_FALLBACK,),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "vulkan-error": Text(
        ("Vulkan failed: {name}", "Vulkan finds no GPU"),
        "OutOfDeviceMemory means that the model does not fit; DeviceLost that the driver reset "
        "the GPU, often at a time limit; IncompatibleDriver and no device that the driver has "
        "no Vulkan.",
        (command("See the devices that Vulkan finds", "vulkaninfo", "--summary", look=True),),
        severity=Severity.ERROR,
    ),
}
