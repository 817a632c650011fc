"""Explain failures of applications: ComfyUI, the web UIs, Gradio, whisper, LocalAI, wgpu."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.inventory import frames, package_of
from doctor.analyzers.recipes import LINUX, code, command, killed_for_memory, newest, variables
from doctor.analyzers.texts import Text, explained
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Severity

_GRADIO = {"gradio", "gradio_client"}


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what an application reports."""
    of_gradio = tuple(
        event
        for event in case.of("gradio-schema")
        if any(package_of(path) in _GRADIO for path in frames(case, event))
        or "gradio_client" in "".join(case.log.lines[max(0, event.at - 3) : event.at + 4])
    )
    # The page that Gradio asks for itself fails where its schema does.
    left = {"gradio-schema", "gradio-localhost"} if of_gradio else {"gradio-schema"}
    others = tuple(event for event in case.events if event.kind not in left)
    yield from explained(case._replace(events=(*others, *of_gradio)), _TABLE)


_TABLE: dict[str, Text] = {
    "comfy-no-text-encoder": Text(
        "The file that was loaded holds no text encoder",
        "Flux, SD3 and video models come as a diffusion model alone, without text encoder and VAE; "
        "the node that loads a whole checkpoint then gives out nothing for them.",
        (
            code(
                "Load the parts one by one",
                "the workflow",
                "Load Diffusion Model + DualCLIPLoader + Load VAE",
                before="Load Checkpoint",
                note="Their files belong into models/diffusion_models, models/text_encoders and "
                "models/vae.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "comfy-file-not-listed": Text(
        "ComfyUI has no file {file} for {input}",
        "The workflow names a file that is not in the folder of its kind. An empty list shows that "
        "the folder has no file at all, or that another folder is meant.",
        (
            command(
                "See which files of models ComfyUI has",
                "ls",
                "-R",
                "models",
                use_if=(LINUX, "the current folder is ComfyUI's"),
                look=True,
                note="Download the file into its folder, or choose one of the list in the node, "
                "then press R to read the folders anew. extra_model_paths.yaml names other "
                "folders.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "requirement-asserted": Text(
        "A program checks for {requirement}, which is not what is installed",
        "Another add-on may have moved the package since.",
        (
            Recipe(
                title="Install what it asks for",
                steps=(Action(install=("{log.requirement}",), options=(Option.HOLD_TORCH,)),),
                note="The portable ComfyUI has a Python of its own: "
                "python_embeded\\python.exe -m pip.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "webui-no-model": Text(
        "The web UI has no model loaded",
        "Loading the checkpoint failed before, or is not done yet: the first traceback above names "
        "the reason. A folder without any checkpoint gives the same.",
        (
            command(
                "See which checkpoints are there, and whether one is cut off",
                "ls",
                "-l",
                "models/Stable-diffusion",
                use_if=(LINUX,),
                look=True,
            ),
        ),
    ),
    "gradio-localhost": Text(
        "Gradio does not reach its own page at localhost",
        "A proxy variable sends the request elsewhere, or the page itself fails: the traceback "
        "above then names the reason, often a pydantic that is newer than this Gradio.",
        (
            variables(
                "Leave local addresses out of the proxy",
                {
                    "no_proxy": "localhost,127.0.0.1,0.0.0.0,::1",
                    "NO_PROXY": "localhost,127.0.0.1,0.0.0.0,::1",
                },
                use_if=("a proxy is set: http_proxy, https_proxy or all_proxy",),
            ),
            newest(
                "gradio", title="Take the newest Gradio", use_if=("the program does not pin it",)
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "gradio-schema": Text(
        "This Gradio cannot read the description that the installed pydantic makes",
        "pydantic 2.11 writes a plain true or false where gradio_client before 1.8 looks into a "
        "dictionary.",
        (
            Recipe(
                title="Go back to pydantic 2.10",
                steps=(Action(install=("pydantic<2.11",), options=(Option.HOLD_TORCH,)),),
            ),
            newest(
                "gradio",
                "gradio_client",
                title="Take a newer Gradio",
                use_if=("the program does not pin it",),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "http-core-too-old": Text(
        "httpcore is older than this httpx: it takes no socket_options",
        "httpx 0.25 and newer pass an argument that httpcore has since 0.17.3.",
        (newest("httpx", "httpcore", title="Bring both to their newest release"),),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "whisper-checksum": Text(
        "The downloaded model is not whole",
        "Its checksum differs: the download broke off, or a proxy put a page of its own there.",
        (
            command(
                "Remove the file, so that it is loaded again",
                "sh",
                "-c",
                "rm -i ~/.cache/whisper/*.pt",
                use_if=(LINUX,),
                note="It asks for each file. On Windows the folder is "
                "%USERPROFILE%\\.cache\\whisper.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "backend-not-installed": Text(
        (
            "LocalAI has no backend {backend} in this installation",
            "LocalAI has no backend {process} in this installation",
        ),
        "The small images hold llama.cpp and few others. Without the name of a backend LocalAI "
        "tries them one after another, so that these lines may follow the real failure of the "
        "first one.",
        (
            command(
                "Install the backend that the model needs",
                *("local-ai", "backends", "install", "<backend>"),
                ask={"backend": "its name, such as transformers or vllm"},
                use_if=("LocalAI is 3.0 or newer",),
                note="In older releases take an image without the ending -core. Name the backend "
                "in the model's YAML file, so that no other one is tried.",
            ),
            command("See which ones there are", "local-ai", "backends", "list", look=True),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "backend-process-ended": Text(
        "The process that loads the model ended without a message of its own",
        "The server only sees that the connection is gone. Most often the memory of the machine or "
        "the GPU is too small for the model, or the processor lacks an instruction; the output of "
        "that process tells.",
        (
            variables(
                "Show the output of that process, and load the model once more",
                {"DEBUG": "true"},
                use_if=("the program is LocalAI",),
                lasting=False,
                note="The lines with stderr hold the reason.",
            ),
            killed_for_memory(
                "A smaller quantization, a shorter context, or fewer layers on the GPU need less."
            ),
        ),
        severity=Severity.ERROR,
    ),
    "wgpu-limit": Text(
        "The program asks the GPU for more than the limit {limit} of {allowed}",
        "wgpu asks for small limits unless a program raises them to those of the adapter. Large "
        "tensors then do not fit into one binding.",
        (
            code(
                "Ask for the limits of the adapter",
                "where the device is requested",
                "required_limits: adapter.limits()",
                before="required_limits: wgpu::Limits::default()",
                note="With burn take its newest release, which does so; a backend for CUDA or "
                "Metal has no such limit. Smaller batches help as well.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "wgpu-shader": Text(
        (
            "A shader that the program generates is not valid: {what}",
            "A shader that the program generates is not valid: {why}",
        ),
        "The code for the GPU was written by the library (burn, cubecl, wgpu), and its own "
        "validation refuses it. It is a fault of that release, mostly of fused operations.",
        (
            code(
                "Switch the fusion of operations off",
                "Cargo.toml",
                'burn = { version = "...", default-features = false, features = ["std", "wgpu"] }',
                before='burn = { version = "...", features = ["wgpu"] }',
                use_if=("the program uses burn, and the feature fusion is on",),
            ),
            command("Take the newest patch releases of the crates", "cargo", "update"),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
}
