"""Explain failures of servers of models: vLLM, SGLang, TGI, Triton, TensorRT-LLM."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.communication.texts import TABLE as OF_COMMUNICATION
from doctor.analyzers.recipes import code, command, in_fresh_environment
from doctor.analyzers.texts import Text, explained, explanation
from doctor.model.scales import Severity

_WARM_UP = re.compile(r"_wait_and_warmup|_execute_server_warmup")
_ABOVE = 12


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what a server of models reports of its model, its settings and its requests."""
    yield from explained(case, _TABLE)
    yield from _no_json(case)


def _no_json(case: Case) -> Iterator[Explanation]:
    """Yield that something else than the server answered its first request to itself."""
    for event in case.of("broken-json"):
        before = case.log.lines[max(0, event.at - _ABOVE) : event.at]
        if any(_WARM_UP.search(line) for line in before):
            answer = _PROXY._replace(titles="A proxy answers the server's request to itself")
            yield from filter(None, [explanation(case, event, answer)])


_PROXY = OF_COMMUNICATION["proxy-answers"]

_TABLE: dict[str, Text] = {
    "quantization-unknown": Text(
        "This vLLM does not know the quantization {method}",
        "The model is stored in a format that a newer release of vLLM brought, or names a format "
        "that vLLM does not have.",
        (in_fresh_environment("Take the newest vLLM, in an environment of its own", "vllm"),),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "chat-template-missing": Text(
        "The tokenizer of the model has no chat template",
        "A base model has none: it was not trained for conversations. Since transformers 4.44 none "
        "is assumed.",
        (
            command(
                "Start the server with a template",
                "vllm",
                "serve",
                "<model>",
                "--chat-template",
                "<template>",
                ask={
                    "model": "the name or folder of the model",
                    "template": "a file .jinja of the model's family; examples lie in the folder "
                    "examples of vLLM's sources",
                },
                note="The variant of the model for conversations (Instruct, Chat) has one.",
            ),
            code(
                "Give the tokenizer a template",
                "the program, after the tokenizer is loaded",
                'tokenizer.chat_template = open("template.jinja").read()',
            ),
        ),
        precision=Precision.EXACT,
    ),
    "context-exceeded": Text(
        "The request has {asked} tokens, and the server takes {limit}",
        "The prompt and the tokens to be written together are longer than the context that the "
        "server was started with.",
        (
            code(
                "Shorten the prompt, or ask for fewer tokens",
                "the request",
                "max_tokens=256",
                before="max_tokens=4096",
            ),
            command(
                "Start the server with a longer context, where the model has one",
                "vllm",
                "serve",
                "<model>",
                "--max-model-len",
                "<tokens>",
                ask={
                    "model": "the name or folder of the model",
                    "tokens": "a number up to max_position_embeddings of its config.json",
                },
            ),
        ),
        precision=Precision.EXACT,
    ),
    "warm-up-too-large": Text(
        "The GPU has no room for a batch of {tokens} {what} tokens beside the model",
        "At its start the server tries the largest batch that its settings allow.",
        (
            command(
                "Allow smaller batches",
                "text-generation-launcher",
                "--model-id",
                "<model>",
                "--max-input-tokens",
                "1024",
                "--max-total-tokens",
                "2048",
                "--max-batch-prefill-tokens",
                "1024",
                ask={"model": "the name or folder of the model"},
                note="Before TGI 2.0 the first option is called --max-input-length. With Docker "
                "these options stand behind the image.",
            ),
            command("See what else holds the GPU's memory", "nvidia-smi", look=True),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "lengths-do-not-fit": Text(
        "{smaller} is not below max_total_tokens",
        "The total holds the prompt and the tokens to be written, so that it has to be the larger "
        "one.",
        (
            command(
                "Name both lengths",
                "text-generation-launcher",
                "--model-id",
                "<model>",
                "--max-input-tokens",
                "2048",
                "--max-total-tokens",
                "4096",
                ask={"model": "the name or folder of the model"},
                note="Before TGI 2.0 the first option is called --max-input-length.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "ranks-for-engine": Text(
        (
            "The engine was built for {world} processes, and {here} run",
            "The number of processes is not the one that the engine was built for",
        ),
        "An engine is built for one number of GPUs, tp_size times pp_size, and mpirun has to start "
        "as many processes.",
        (
            command(
                "Start as many processes as the engine has parts",
                "mpirun",
                "-n",
                "<processes>",
                "--allow-run-as-root",
                "{python.executable}",
                "<program>",
                ask={
                    "processes": "tp_size times pp_size, as config.json in the folder of the "
                    "engine names them",
                    "program": "the program that loads the engine",
                },
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "image-without-module": Text(
        "This image of the Triton server has no TensorRT-LLM",
        "NVIDIA publishes several images of a release. Only the one whose tag has trtllm brings "
        "the backend and the module tensorrt_llm. It has to be the release that built the engine.",
        (
            command(
                "Take the image with TensorRT-LLM",
                *("docker", "run", "--rm", "--gpus", "all"),
                "nvcr.io/nvidia/tritonserver:<release>-trtllm-python-py3",
                "nvidia-smi",
                ask={"release": "the release of the image, such as 24.08"},
                note="Name this image in the place of the other one. Its release notes name the "
                "TensorRT-LLM with which the engine has to be built.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
        contradicts=("python/*",),
    ),
    "python-model-missing": Text(
        "The model of the Python backend has no file model.py where Triton looks for it",
        "The Python backend imports <repository>/<model>/<version>/model.py. The file has another "
        "name, lies in the folder above, or the folder of the version is empty.",
        (
            command(
                "See what lies in the repository",
                "find",
                "<repository>",
                "-name",
                "*.py",
                ask={"repository": "the folder that --model-repository names"},
                note="Move the file to <model>/1/model.py. A link to another folder has to lead "
                "to a place inside the container.",
                look=True,
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
        contradicts=("python/*",),
    ),
    "engine-not-created": Text(
        (
            "Triton cannot load the TensorRT engine of {model}",
            "Triton cannot load a TensorRT engine",
        ),
        "An engine works with the release of TensorRT, and on the kind of GPU, that it was built "
        "with. The lines with E above the table name which of them differs.",
        (
            command(
                "Build the engine inside the image that serves it",
                "docker",
                "run",
                "--rm",
                "--gpus",
                "all",
                "-v",
                "<repository>:/models",
                "nvcr.io/nvidia/tensorrt:<release>-py3",
                "trtexec",
                "--onnx=/models/<model>.onnx",
                "--saveEngine=/models/<model>/1/model.plan",
                ask={
                    "repository": "the folder of the models",
                    "release": "the release of the Triton image, such as 24.08",
                    "model": "the name of the model",
                },
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "model-configuration-differs": Text(
        "config.pbtxt of {model} names {wanted} {what}, and the model has {there}",
        "The configuration has to list every input and output of the model.",
        (
            code(
                "Let Triton write the configuration of the model itself",
                "the command that starts the server; move config.pbtxt away first",
                "tritonserver --model-repository=/models --disable-auto-complete-config=false",
                note="curl localhost:8000/v2/models/<model>/config then shows what it found. "
                "ONNX, TensorRT and TensorFlow models allow that.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "repository-file-missing": Text(
        "The repository of models has no file {file}",
        "Triton looks for <model>/<version>/ with the file that the backend expects: model.onnx, "
        "model.plan, model.pt, model.py or model.savedmodel. In a container the folder has to be "
        "mounted.",
        (
            command(
                "See what lies in the repository",
                "ls",
                "-lR",
                "<repository>",
                ask={"repository": "the folder that --model-repository names"},
                look=True,
                note="default_model_filename in config.pbtxt names a file of another name.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "model-not-loaded": Text(
        "Triton cannot load {model}: {message}",
        "The table at the end of the start shows each model with its reason. The other models are "
        "unloaded as well unless --exit-on-error=false is given.",
        (
            command(
                "Have Triton say more",
                "tritonserver",
                "--model-repository=<repository>",
                "--log-verbose=1",
                ask={"repository": "the folder of the models"},
                look=True,
            ),
        ),
    ),
}
