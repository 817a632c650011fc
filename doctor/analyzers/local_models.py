"""Explain failures of programs for models on one's own machine: llama.cpp, Ollama, MLX."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.gguf import SEE_RELEASE, updates
from doctor.analyzers.inventory import frames, package_of
from doctor.analyzers.recipes import LINUX, MACOS, code, command, fitting, variables
from doctor.analyzers.texts import Text, explained
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Severity
from doctor.timelines import names

_MLX = {"mlx_lm": "mlx-lm", "mlx_vlm": "mlx-vlm", "mlx_audio": "mlx-audio", "mflux": "mflux"}
"""Packages that load models into MLX, by their import names."""
_NAMED = re.compile(r"\bmlx[_-](?:lm|vlm|audio)\b|\bmflux\b")


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what a program for local models reports of its model and of the machine."""
    yield from _not_loaded(case)
    for one in explained(case, _TABLE):
        if one.event.kind in ("ggml-assertion", "ggml-gpu-call"):
            yield _with(one, (*updates(case), *one.detection.recipes))
        else:
            yield _of_mlx(case, one) if one.event.kind in _OF_MLX else one


def _not_loaded(case: Case) -> Iterator[Explanation]:
    """Yield that llama-cpp-python got no model from a file, which it only asserts."""
    for event in case.of("own-assertion", "exception"):
        inner = next(frames(case, event), "")
        above = case.log.lines[max(0, event.at - 2) : event.at]
        asserts = any("self.model is not None" in line for line in above)
        if package_of(inner) == "llama_cpp" and asserts:
            renamed = msgspec.structs.replace(event, kind="gguf-not-loaded")
            yield from explained(case._replace(events=(renamed,)), {renamed.kind: _NOT_LOADED})


_NOT_LOADED = Text(
    "llama.cpp did not load the model's file, and says why above",
    "llama-cpp-python only asserts that a model is there. The lines of llama_model_load before "
    "have the reason; without them it is mostly a file of another format: since 0.1.79 it reads "
    "GGUF and no longer GGML, and older releases read no GGUF.",
    (
        command(
            "See the format: GGUF, or an older one",
            "head",
            "-c",
            "4",
            "<model>",
            ask={"model": "the file of the model"},
            look=True,
            note="Take the GGUF file of the same model where it shows tjgg or lmgg.",
        ),
        Recipe(
            title="Take the newest llama-cpp-python",
            use_if=("the file shows GGUF",),
            steps=(Action(install=("llama-cpp-python",), options=(Option.UPGRADE,)),),
        ),
    ),
    severity=Severity.ERROR,
    precision=Precision.EXACT,
)
_OF_MLX = {"mlx-model-type", "mlx-parameters"}


def _of_mlx(case: Case, one: Explanation) -> Explanation:
    """Return an explanation with the newest release of the package that loads the model."""
    package = _loader(case, one.event)
    recipe = Recipe(
        title=f"Take the newest {package}, which knows the model",
        steps=(Action(install=(package,), options=(Option.UPGRADE,)),),
        note="Applications such as LM Studio bring their own: update the application.",
    )
    return _with(one, fitting(case, (recipe, *one.detection.recipes)))


def _with(one: Explanation, recipes: tuple[Recipe, ...]) -> Explanation:
    detection = msgspec.structs.replace(one.detection, recipes=recipes)
    return msgspec.structs.replace(one, detection=detection)


def _loader(case: Case, event: Event) -> str:
    for path in frames(case, event):
        package = package_of(path)
        if package and package in _MLX:
            return _MLX[package]
    for line in case.log.lines:
        if found := _NAMED.search(line[:1000]):
            return found[0].replace("_", "-")
    return names.distribution_of("mlx_lm") or "mlx-lm"


_OTHER_ENGINE = (
    command(
        "Take another engine of LM Studio: for Vulkan, for the processor, or an older one",
        "lms",
        "runtime",
        "select",
        note="Or in the program: Settings, Runtime, and there the selection for GGUF. `lms runtime "
        "ls` lists those that are here.",
    ),
    command(
        "Take the newest engine of LM Studio",
        "lms",
        "runtime",
        "update",
        note="The mistake of an engine is mostly mended in one of its next releases.",
    ),
    code(
        "Load the model with less on the GPU, and a shorter context",
        "the settings of the model in LM Studio",
        "GPU Offload: 0, Context Length: 4096",
        use_if=("the engine for the processor loads the model",),
    ),
)
_LESS = command(
    "Give the model a shorter context and fewer layers on the GPU",
    "llama-server",
    "-m",
    "<model>",
    "-c",
    "4096",
    "-ngl",
    "20",
    ask={"model": "the file of the model"},
    note="In Ollama these are num_ctx and num_gpu. A smaller quantization (Q4 instead of Q8) needs "
    "less as well.",
)

_TABLE: dict[str, Text] = {
    "engine-crashed": Text(
        (
            "LM Studio's engine ended by {signal} while it loaded the model",
            "LM Studio's engine ended with {code} while it loaded the model",
            "LM Studio's engine crashed while it loaded the model",
        ),
        "LM Studio starts llama.cpp as a program of its own, an engine for each kind of GPU. This "
        "one crashed: its release has a mistake for this model or this GPU, or memory ran out. "
        "Another engine loads the same file.",
        _OTHER_ENGINE,
        severity=Severity.ERROR,
    ),
    "embedding-model-for-text": Text(
        "The model makes embeddings, and the program asks it for text",
        "A model for embeddings has no output for tokens, which this build of llama.cpp notices by "
        "an assertion only.",
        (
            command(
                "Start it as a server of embeddings",
                "llama-server",
                "-m",
                "<model>",
                "--embedding",
                ask={"model": "the file of the model"},
                note="To write text, take a model for text. Newer releases say so plainly.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "ggml-gpu-call": Text(
        "A call of the GPU's runtime failed in {place}",
        "llama.cpp checks each call and ends. It prints no reason here: the driver, the memory of "
        "the GPU, or a build for another GPU.",
        (
            variables(
                "Have the runtime say more, and run once more",
                {"AMD_LOG_LEVEL": "3", "OLLAMA_DEBUG": "1"},
                lasting=False,
                note="An update of the GPU's driver mends most of these: on Windows from AMD or "
                "NVIDIA, on Linux from the distribution.",
            ),
            SEE_RELEASE,
        ),
        severity=Severity.ERROR,
    ),
    "ggml-assertion": Text(
        "llama.cpp ended itself: its check {check} failed",
        "The check is one of llama.cpp: this build has a fault for this model, these options or "
        "this GPU. Such faults are mended in newer releases.",
        (SEE_RELEASE, _LESS),
        severity=Severity.ERROR,
    ),
    "pinned-memory": Text(
        "The driver does not lock {size} MiB of the machine's memory for the GPU: {why}",
        "Memory that the GPU reads directly has to be locked. The driver refuses where little is "
        "free, where the limit of locked memory is small, or where kernel and driver do not go "
        "together after an update.",
        (
            variables(
                "Do without locked memory",
                {"GGML_CUDA_NO_PINNED": "1"},
                note="It loads a little slower. After an update of the kernel or the driver, "
                "restart the machine first.",
            ),
            _LESS,
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "compute-buffers": Text(
        "No memory is left for the work space of the model",
        "The weights fit, but not the buffers that the context and the batch need beside them.",
        (_LESS,),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "model-buffer": Text(
        "The memory of {where} has no room for the model",
        "The layers that are to lie there are larger than what is free.",
        (
            _LESS,
            command("See what holds the GPU's memory", "nvidia-smi", look=True),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "model-larger-than-memory": Text(
        "The model needs {need} of memory, and {have} are free",
        "This is the memory of the machine, or what the container or WSL gets of it. The context "
        "counts as well.",
        (
            command(
                "Run the model with a shorter context",
                "sh",
                "-c",
                "OLLAMA_CONTEXT_LENGTH=2048 ollama serve",
                use_if=(LINUX, "a smaller context is enough"),
                note="Otherwise take a smaller model or quantization, close other programs, or "
                "give the container or WSL more memory.",
            ),
            command("See which models are loaded", "ollama", "ps", look=True),
        ),
        precision=Precision.EXACT,
    ),
    "model-name-unknown": Text(
        "The registry of Ollama has no model of that name and tag",
        "The name or the tag is misspelled, or the model was made with ollama create on another "
        "machine.",
        (
            command(
                "See the names of the models that are here",
                "ollama",
                "list",
                look=True,
                note="ollama.com/library lists the others with their tags. An old Ollama does not "
                "find models of newer formats: update it.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "server-not-running": Text(
        "The server of Ollama does not run, or listens elsewhere",
        "The command ollama asks a server at OLLAMA_HOST, by default 127.0.0.1:11434.",
        (
            command(
                "Start the server",
                "ollama",
                "serve",
                note="As a service: sudo systemctl start ollama. In a container set OLLAMA_HOST "
                "to the address of the machine that runs it.",
            ),
            command(
                "See why the service ended",
                "journalctl",
                "-u",
                "ollama",
                "-n",
                "50",
                "--no-pager",
                use_if=(LINUX,),
                look=True,
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "server-hung-up": Text(
        "The server of Ollama broke off the answer",
        "Its own log names the reason; this is only what the client sees.",
        (
            command(
                "Read the server's log",
                "journalctl",
                "-u",
                "ollama",
                "-n",
                "100",
                "--no-pager",
                use_if=(LINUX,),
                note="On Windows it is %LOCALAPPDATA%\\Ollama\\server.log, on macOS "
                "~/.ollama/logs/server.log.",
                look=True,
            ),
        ),
    ),
    "name-not-resolved": Text(
        "The name {host} is not resolved: {why}",
        "The machine, or the container, has no working name server, or no way out.",
        (
            command(
                "See whether the name is resolved outside the program",
                "getent",
                "hosts",
                "{log.host}",
                use_if=(LINUX,),
                look=True,
                note="In Docker, name a server: docker run --dns 1.1.1.1, or dns in "
                "/etc/docker/daemon.json. Behind a proxy set HTTPS_PROXY for the service.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "mlx-model-type": Text(
        "This release does not know models of the type {type}",
        "The model is newer than the package that loads it into MLX.",
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "mlx-parameters": Text(
        "The weights and the code of the model do not have the same parameters: {what}",
        "The files were converted for another release of the code, mostly for a newer one.",
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "metal-buffer-too-large": Text(
        "One array of {bytes} bytes is larger than Metal allows ({limit} bytes)",
        "Metal limits each buffer to a part of the memory. A long prompt or a large image makes "
        "such an array.",
        (
            command(
                "Keep a shorter cache of the prompt",
                *("{python.executable}", "-m", "mlx_lm", "generate", "--model", "<model>"),
                *("--max-kv-size", "4096", "--prompt", "<prompt>"),
                ask={"model": "the name of the model", "prompt": "your prompt"},
                use_if=(MACOS, "the program is mlx_lm"),
                note="Elsewhere: a smaller image, a shorter context, or a smaller batch.",
            ),
        ),
        precision=Precision.EXACT,
    ),
}
