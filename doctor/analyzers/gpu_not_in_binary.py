"""Explain binaries that hold no code for the GPU.

Which GPU has which compute capability, and which build of torch has code for it, stand in the
tables gpu-arch and torch-archs.
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.builds_for_gpus import builds_for
from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.gpu_extensions import called_extension, rebuild
from doctor.analyzers.gpus import Gpu, gpu_of
from doctor.analyzers.recipes import code, command, fitting
from doctor.analyzers.torch_builds import INDEX, architectures, newest_for_python
from doctor.facts.derive.arch import uncovered
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Severity

_BUILDERS = (
    ("tensorrt-llm", "this build of TensorRT-LLM"),
    ("tensorrt", "this release of TensorRT"),
    ("text-embeddings", "this image of text-embeddings-inference"),
    ("ggml", "this build of llama.cpp"),
    ("llama.cpp", "this build of llama.cpp"),
    ("llama-server", "this build of llama.cpp"),
    ("ollama", "this build of Ollama"),
    ("candle", "this build with Candle"),
    ("drivererror(", "this program (cudarc)"),
    ("xformers", "this wheel of xformers"),
    ("flash_fwd", "this wheel of flash-attn"),
    ("flash_attn", "this wheel of flash-attn"),
    ("flash-attention", "this build of flash-attn"),
    ("causal_conv1d", "this wheel of causal-conv1d"),
    ("selective_scan", "this wheel of mamba-ssm"),
    ("bitsandbytes", "this wheel of bitsandbytes"),
    ("exllama", "this wheel of exllamav2"),
    ("vllm", "this build of vLLM"),
    ("cupy", "the kernel that CuPy loads"),
    ("jaxlib", "this build of jaxlib"),
    ("xla", "this build of jaxlib or TensorFlow"),
    ("tensorflow", "this build of TensorFlow"),
    ("onnxruntime", "this build of ONNX Runtime"),
    ("ctranslate2", "this build of CTranslate2"),
)
"""Words of a line, in lower case, and the binary that it speaks of."""
_ANY, _AROUND = "The program or library", 6
_TORCH = (
    *("torch.acceleratorerror", "parallel_for failed", "runtimeerror: cuda error"),
    *("pytorch", "torch.cuda", "at::native"),
)


def explain(case: Case) -> Iterator[Explanation]:
    """Yield which GPU has no code in which binary, and which build has code for it."""
    events = [*case.of("gpu-not-in-torch"), *case.of("no-kernel-image")]
    for event in events[:1]:
        if not any(case.of("gpu-not-in-torch")) and (package := called_extension(case, event)):
            yield _of_extension(case, event, package)
            break
        yield _of_torch(case, event) if _is_torch(case, event) else _of_other(case, event)
    for event in case.of("compute-cap-mismatch"):
        yield _mismatch(case, event)
        break
    for event in case.of("ptxas-lacks-gpu"):
        yield _of_ptxas(case, event)
        break


def _is_torch(case: Case, event: Event) -> bool:
    lower = event.text.lower()
    if event.kind == "gpu-not-in-torch" or any(case.of("gpu-not-in-torch")):
        return True
    if "arch" in event.objects or "sm" in event.objects or _builder(lower):
        return False
    return any(word in lower for word in _TORCH) or (
        not _builder(_near(case, event)) and "torch" in _near(case, event)
    )


def _of_extension(case: Case, event: Event, package: str) -> Explanation:
    gpu = gpu_of(case, event)
    label = gpu.label if gpu else "this GPU"
    return _explanation(
        case,
        event,
        f"{package} has no code for {label}",
        f"The statement that failed calls {package}, an extension with kernels of its own, which "
        "were compiled for other GPUs. Another torch does not change them, and the extension may "
        "not load under it.",
        (rebuild(package, gpu.capability if gpu else "<capability>"),),
        Precision.EXACT,
        contradicts=("torch/no-kernel-image",),
    )


def _near(case: Case, event: Event) -> str:
    """Return the lines around an event in lower case."""
    return " ".join(case.log.lines[max(0, event.at - _AROUND) : event.at + _AROUND + 1]).lower()


def _builder(lower: str) -> str:
    return next((name for word, name in _BUILDERS if word in lower), "")


def _of_torch(case: Case, event: Event) -> Explanation:
    gpu = gpu_of(case, event)
    version = _fact(case, "torch.version")
    torch = f"torch {version}" if version else "The torch that is installed"
    archs = _architectures(case, version)
    if gpu is not None and archs and not uncovered(archs, [gpu.capability]):
        return _explanation(
            case,
            event,
            f"An extension has no code for {gpu.label}, though {torch} has",
            f"torch holds code for {gpu.sm}, so the kernel belongs to an extension that was "
            "compiled for other GPUs. Compile it for this one, or take a wheel that has it.",
            (_own_architecture(gpu.capability),),
            Precision.EXACT,
        )
    if gpu is None or not (archs or event.kind == "gpu-not-in-torch"):
        label = gpu.label if gpu else "this GPU"
        return _explanation(
            case,
            event,
            f"{torch}, or an extension of it, has no code for {label}",
            "A kernel was to run for which the file holds no machine code of this GPU's "
            "architecture. Either torch itself lacks it, or an extension was compiled for others."
            + (f" {_builds(gpu)[0]}" if gpu else ""),
            (_compare(), _own_architecture(), *(_builds(gpu)[1] if gpu else ())),
            Precision.FAMILY,
        )
    known = f" This build has code for {', '.join(archs)}." if archs else ""
    sentence, recipes = _builds(gpu)
    recipes = (*newest_for_python(case, gpu.capability), *recipes)
    return _explanation(
        case,
        event,
        f"{torch} has no code for {gpu.label}",
        f"The wheel was not compiled for this GPU; driver and toolkit do not matter.{known} "
        f"{sentence}",
        # Without its release, the reader would have to complete the command.
        (_same_release(), *recipes) if version or not recipes else (*recipes, _same_release()),
        Precision.EXACT,
    )


def _architectures(case: Case, version: str) -> list[str]:
    """Return what torch has code for, by its own list or by the table of its wheels for Linux."""
    if archs := case.facts.get("torch.arch_list"):
        return [str(one) for one in archs.value or ()]
    release, _, tag = version.partition("+")
    if not tag.startswith("cu") or case.context.os not in ("", "linux"):
        return []
    return architectures(case, release, f"{tag[2:-1]}.{tag[-1]}")


def _builds(gpu: Gpu) -> tuple[str, tuple[Recipe, ...]]:
    """Return which builds of torch have code for a GPU, in a sentence and as recipes."""
    wheel, new, releases = gpu.row.get("wheel"), gpu.row.get("wheel-new"), gpu.row.get("torch", {})
    if not wheel or not releases:
        return f"No wheel of torch for Linux or Windows on its index has code for {gpu.sm}.", ()
    first, before = releases.get("from"), releases.get("before")
    span = f"from {first} on" if not before else f"from {first} until before {before}"
    sentence = f"Code for {gpu.sm} is in torch {span} of the index {wheel}"
    recipes = []
    if new and new != wheel:
        sentence += f", and in later releases of the index {new}"
        recipes.append(_install(new, "torch", "driver 580 or newer is there"))
    wanted = f"torch>={first}" + (f",<{before}" if before else "")
    recipes.insert(0, _install(str(wheel), wanted, ""))
    return sentence + ".", tuple(recipes)


def _same_release() -> Recipe:
    """Return the recipe that keeps the release of torch; it is dropped where no build fits."""
    return Recipe(
        title="Take the build of torch {torch.release} that holds code for the GPU",
        steps=(
            Action(
                install=("torch=={torch.release}+{torch.wanted_tag}",),
                companions=(
                    "torchvision=={compat.torch.torchvision.wanted}+{torch.wanted_tag}",
                    "torchaudio=={compat.torch.torchaudio.wanted}+{torch.wanted_tag}",
                ),
                index=INDEX + "{torch.wanted_tag}",
            ),
        ),
        verify=_VERIFY,
    )


_VERIFY = ("{python.executable}", "-c", "import torch; print(torch.ones(2).cuda() + 1)")


def _install(tag: str, requirement: str, use_if: str) -> Recipe:
    return Recipe(
        title=f"Install a torch with code for this GPU, from the index {tag}",
        use_if=(use_if,) if use_if else (),
        note="Compiled extensions (flash-attn, xformers and others) have to be of the same torch.",
        steps=(
            Action(
                install=(requirement,),
                companions=("torchvision", "torchaudio"),
                index=INDEX + tag,
                options=(Option.UPGRADE,),
            ),
        ),
        verify=_VERIFY,
    )


def _compare() -> Recipe:
    return command(
        "Compare the GPU with the architectures of torch",
        "{python.executable}",
        "-c",
        "import torch; print(torch.__version__, torch.cuda.get_arch_list(), "
        "torch.cuda.get_device_capability())",
        look=True,
    )


def _own_architecture(capability: str = "<capability>") -> Recipe:
    return Recipe(
        title="Build the extension for this GPU",
        use_if=("the kernel belongs to a compiled extension",),
        steps=(
            Action(
                install=("<package>",),
                options=(
                    *(Option.REINSTALL, Option.NO_DEPS),
                    *(Option.NO_BUILD_ISOLATION, Option.NO_BINARY, Option.NO_CACHE),
                ),
                env={"TORCH_CUDA_ARCH_LIST": capability},
            ),
        ),
        ask={
            "package": "the package that the kernel belongs to, with its release: name==release",
            **({"capability": "the GPU's, such as 8.9"} if capability == "<capability>" else {}),
        },
    )


def _of_other(case: Case, event: Event) -> Explanation:
    what = _builder(event.text.lower()) or _builder(_near(case, event)) or _ANY
    gpu = gpu_of(case, event)
    built = event.objects.get("archs", "")
    label = gpu.label if gpu else "this GPU"
    known = f" It was compiled for {built}." if built else ""
    sm = f" ({gpu.sm})" if gpu else ""
    return _explanation(
        case,
        event,
        f"{what[0].upper()}{what[1:]} has no code for {label}",
        f"A binary holds machine code for some architectures of GPUs only, and this one{sm} is "
        f"not among them.{known} Take a release or an image that names this GPU, or build it for "
        "this GPU's compute capability. The driver is not the cause.",
        builds_for(what, gpu),
        Precision.EXACT if gpu and (built or what != _ANY) else (Precision.FAMILY),
    )


def _mismatch(case: Case, event: Event) -> Explanation:
    here, built = event.objects["device"], event.objects["built"]
    gpu = gpu_of(case, event)
    label = gpu.name if gpu and gpu.name else "the GPU"
    return _explanation(
        case,
        event,
        f"The program was built for compute capability {built}, and {label} has {here}",
        "Candle compiles its kernels for one generation of GPUs. Take the image or build for "
        f"{here}, or build it here with CUDA_COMPUTE_CAP={here}.",
        (
            code(
                "Build it for this GPU",
                "the shell that builds the program",
                f"CUDA_COMPUTE_CAP={here} cargo build --release",
                use_if=("it is built on this machine",),
            ),
            code(
                "Take the image of this generation of GPUs",
                "the name of the image of text-embeddings-inference",
                _IMAGES.get(here, f"the image for compute capability {here}"),
                use_if=("the program is text-embeddings-inference in a container",),
                note="Its README lists one image for each generation.",
            ),
        ),
        Precision.EXACT,
    )


_IMAGES = {
    "75": "ghcr.io/huggingface/text-embeddings-inference:turing-latest",
    "80": "ghcr.io/huggingface/text-embeddings-inference:latest",
    "86": "ghcr.io/huggingface/text-embeddings-inference:86-latest",
    "89": "ghcr.io/huggingface/text-embeddings-inference:89-latest",
    "90": "ghcr.io/huggingface/text-embeddings-inference:hopper-latest",
    "120": "ghcr.io/huggingface/text-embeddings-inference:120-latest",
}
"""Its README names them: https://github.com/huggingface/text-embeddings-inference."""


def _of_ptxas(case: Case, event: Event) -> Explanation:
    gpu = gpu_of(case, event)
    sm = f"sm_{event.objects['sm']}"
    toolkit = gpu.row.get("toolkit", {}).get("from") if gpu else None
    triton = gpu.row.get("triton", {}) if gpu else {}
    since = f" ptxas of CUDA {toolkit} is the first that knows {sm}." if toolkit else ""
    if triton.get("from") and toolkit:
        since += f" triton brings one from {triton['from']} on."
    if triton.get("before"):
        since += f" triton dropped {sm} in {triton['before']}."
    return _explanation(
        case,
        event,
        f"ptxas does not know {sm}" + (f", {gpu.name}" if gpu and gpu.name else ""),
        "A kernel is assembled while the program runs, by a ptxas that is too old for this GPU, "
        f"or so new that it dropped it.{since}",
        (
            command(
                "See which ptxas is found first, and its release",
                "ptxas",
                "--version",
                look=True,
                note="triton takes the file that TRITON_PTXAS_PATH names, or else its own.",
            ),
        ),
        Precision.EXACT if since else Precision.FAMILY,
    )


def _fact(case: Case, name: str) -> str:
    fact = case.facts.get(name)
    return str(fact.value) if fact is not None and fact.value else ""


def _explanation(
    case: Case,
    event: Event,
    title: str,
    cause: str,
    recipes: tuple[Recipe, ...],
    precision: Precision,
    severity: Severity = Severity.ERROR,
    contradicts: tuple[str, ...] = (),
) -> Explanation:
    return Explanation(
        event=event,
        contradicts=contradicts,
        detection=detection(
            event,
            title[:200],
            cause,
            recipes=fitting(case, recipes),
            severity=severity,
            name="gpu-not-in-binary" if "image" in event.kind or "torch" in event.kind else "",
        ),
        precision=precision,
    )
