"""What servers, schedulers, trainers and applications report of settings, models and packages."""

from __future__ import annotations

import pytest

from doctor.analyzers.case import Precision
from doctor.model.scales import Severity
from tests.analyzers.explained import explained, said

LINES = (
    ("ValueError: Unknown quantization method: mxfp4. Must be one of ['awq', 'gptq'].", "mxfp4"),
    (
        (
            "ValueError: As of transformers v4.44, default chat template is no longer allowed, so you "  # noqa: E501
            "must provide a chat template if the tokenizer does not define one."
        ),
        "no chat template",
    ),
    (
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
        "5000 tokens, and the server takes 4096",
    ),
    (
        "RuntimeError: Not enough memory to handle 4096 prefill tokens. You need to decrease",
        "batch of 4096 prefill tokens",
    ),
    ("`max_input_length` must be < `max_total_tokens`", "not below max_total_tokens"),
    ("| yolo | 1 | UNAVAILABLE: Internal: unable to create TensorRT engine |", "a TensorRT engine"),
    (
        "unable to load model 'm', configuration expects 1 inputs, model provides 2",
        "names 1 inputs, and the model has 2",
    ),
    (
        (
            'src/llama.cpp:16813: GGML_ASSERT(strcmp(res->name, "result_output") == 0 && '
            '"missing result_output tensor") failed'
        ),
        "makes embeddings",
    ),
    (
        (
            "llama-simple: ggml-cpu.c:7669: ggml_compute_forward_silu_f32: Assertion `!isinf(x)' "
            "failed."
        ),
        "its check !isinf(x) failed",
    ),
    ("ggml-cuda.cu:2641: GGML_ASSERT(stat == cudaSuccess) failed", "call of the GPU's runtime"),
    (
        "Error: model requires more system memory (12.3 GiB) than is available (7.8 GiB)",
        "needs 12.3 GiB of memory, and 7.8 GiB are free",
    ),
    ("ValueError: Model type qwen3_next not supported.", "type qwen3_next"),
    (
        "No available node types can fulfill resource request {'GPU': 1.0}.",
        "never has what is asked for: {'GPU': 1.0}",
    ),
    (
        "srun: error: Unable to create step for job 12345: More processors requested than permitted",  # noqa: E501
        "More processors requested",
    ),
    (
        "nvidia-container-cli: device error: unknown device id: no-gpu-has-2MiB-to-run",
        "No GPU of the node has 2MiB free",
    ),
    (
        (
            "ggml_cuda_host_malloc: failed to allocate 6558.12 MiB of pinned memory: invalid "
            "argument"
        ),
        "lock 6558.12 MiB",
    ),
    ("Failed to compile. No more devices are left!", "driver of the NPU"),
    (
        "could not load model: rpc error: code = Canceled desc = ",
        "ended without a message of its own",
    ),
    (
        (
            "The object store is using /tmp instead of /dev/shm because /dev/shm has only 67108864 "
            "bytes available."
        ),
        "only 67108864 bytes of shared memory",
    ),
    ("RuntimeError: disagreement between rank0 and rank1: rank0: [4096, 4097]", "ZeRO-3"),
    ("exec /usr/local/bin/entrypoint.sh: exec format error", "another kind of processor"),
    (
        (
            "AssertionError: Check batch related parameters. train_batch_size is not equal to "
            "micro_batch_per_gpu * gradient_acc_step * world_size 32 != 4 * 1 * 2"
        ),
        "train_batch_size 32 is not 4 * 1 * 2",
    ),
    ("ValueError: Attempting to unscale FP16 gradients.", "float16"),
    (
        "Error: Device type MPS is not supported for torch.Generator() api.",
        "no random numbers on MPS",
    ),
    (
        (
            "AssertionError: diffusers>=0.25.0 requirement not satisfied. Please install correct "
            "diffusers version."
        ),
        "diffusers>=0.25.0",
    ),
    (
        (
            "Got invalid dimensions for input: images for the following indices index: 2 Got: 640 "
            "Expected: 320"
        ),
        "wants 320 in dimension 2 of images",
    ),
    (
        (
            "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3313, OpType=RECV, "
            "NumelIn=18, NumelOut=18, Timeout(ms)=600000) ran for 600086 milliseconds"
        ),
        "waited 600000 ms for the other end (RECV)",
    ),
    (
        "AttributeError: 'TrainingArguments' object has no attribute 'packing'",
        "SFTConfig",
    ),
)


@pytest.mark.parametrize(("line", "part"), LINES, ids=[part for _, part in LINES])
def test_each_line_is_explained_with_its_objects(line: str, part: str) -> None:
    found = [one for one in explained(line) if part in one.detection.title]
    assert found, said(line)
    assert found[0].detection.recipes


WARM_UP = """
  File "/opt/venv/lib/python3.11/site-packages/sglang/srt/server.py", line 410, in _wait_and_warmup
    model_info = res.json()
  File "/opt/venv/lib/python3.11/site-packages/requests/models.py", line 978, in json
    raise RequestsJSONDecodeError(e.msg, e.doc, e.pos)
requests.exceptions.JSONDecodeError: Expecting value: line 1 column 1 (char 0)
"""


def test_an_answer_without_json_to_a_warm_up_comes_from_a_proxy() -> None:
    titles = [title for _, title in said(WARM_UP)]
    assert "A proxy answers the server's request to itself" in titles
    elsewhere = [title for _, title in said(WARM_UP.replace("_wait_and_warmup", "load"))]
    assert not any("proxy" in title for title in elsewhere)


ADDON = """
Traceback (most recent call last):
  File "C:\\ComfyUI\\nodes.py", line 1810, in load_custom_node
  File "C:\\ComfyUI\\custom_nodes\\Some_Nodes\\__init__.py", line 11, in <module>
    from .Nodes import Segments
ModuleNotFoundError: No module named 'Some_Nodes.components.local_dino'
"""


def test_a_module_of_an_addon_itself() -> None:
    found = next(one for one in explained(ADDON) if one.detection.id.endswith("addon-incomplete"))
    assert found.detection.recipes[0].steps[0].run == (
        "git",
        "-C",
        "custom_nodes/Some_Nodes",
        "pull",
    )


UNDEFINED = """
Traceback (most recent call last):
  File "/opt/venv/lib/python3.12/site-packages/transformers/training_args.py", line 1283, in <module>
    parallelism_config: Optional["ParallelismConfig"] = field(
NameError: name 'ParallelismConfig' is not defined. Did you mean: 'parallelism_config'?
"""  # noqa: E501


def test_a_name_that_a_package_takes_from_a_newer_one() -> None:
    assert (
        "name-not-in-release",
        "transformers uses ParallelismConfig of accelerate, which came with accelerate 1.10",
    ) in said(UNDEFINED)
    own = UNDEFINED.replace("/opt/venv/lib/python3.12/site-packages/transformers", "/home/ada")
    (told,) = said(own)
    assert told[0] == "own-code"


POSITIONAL = """
Traceback (most recent call last):
  File "/opt/venv/lib/python3.10/site-packages/transformers/trainer.py", line 2481, in _inner
    tr_loss_step = self.training_step(model, inputs, num_items_in_batch)
TypeError: Trainer.training_step() takes 3 positional arguments but 4 were given
"""


def test_a_method_that_takes_fewer_arguments_than_it_gets() -> None:
    assert (
        "argument-not-accepted",
        "transformers hands 4 arguments to Trainer.training_step(), which takes 3",
    ) in said(POSITIONAL)


BETWEEN = """
Traceback (most recent call last):
  File "/opt/venv/lib/python3.10/site-packages/lmdeploy/serve.py", line 9, in start
    build(model)
  File "/opt/venv/lib/python3.10/site-packages/timm/models/x.py", line 5, in build
    return config.layers
AttributeError: 'Config' object has no attribute 'layers'
"""


def test_a_lookup_that_fails_between_two_packages_names_both() -> None:
    found = next(one for one in explained(BETWEEN) if one.detection.id.endswith("do-not-fit"))
    assert found.precision is Precision.GUESS
    assert found.detection.severity is Severity.NOTE
    assert found.detection.recipes[-1].steps[0].run[-1] == "check"
    alone = BETWEEN.replace("/opt/venv/lib/python3.10/site-packages/lmdeploy", "/home/ada")
    assert not any(name == "packages-do-not-fit" for name, _ in said(alone))


OWN = """
Traceback (most recent call last):
  File "/sgl-workspace/sglang/python/sglang/srt/layers/attention/nsa_indexer.py", line 401, in topk
    assert logits.shape[0] == len(seq_lens)
AssertionError
"""


def test_a_fault_in_the_code_of_an_engine_or_an_addon() -> None:
    found = next(one for one in explained(OWN) if one.detection.id.endswith("engine-fails"))
    # It pins its torch: beside the torch that is here the resolver would take an older release.
    assert [step.run for step in found.detection.recipes[0].steps] == [
        ("uv", "venv", ".venv-sglang", "--python", "3.12"),
        ("uv", "pip", "install", "--python", ".venv-sglang", "--torch-backend=auto", "sglang"),
    ]
    addon = OWN.replace("/sgl-workspace/sglang/python/sglang", "/ComfyUI/custom_nodes/Some_Nodes")
    assert "addon-fails" in [name for name, _ in said(addon)]
    assert "engine-fails" not in [name for name, _ in said(OWN.replace("sglang", "mine"))]


def test_an_empty_library_of_the_host_is_mounted_by_the_container_toolkit() -> None:
    text = "error while loading shared libraries: /usr/lib/libnvinfer.so.8: file too short"
    found = next(one for one in explained(text) if one.detection.id.endswith("library-unusable"))
    assert found.detection.recipes[0].steps[0].run[:2] == ("docker", "run")


@pytest.mark.parametrize("key", ["model_type", "qwen3"])
def test_the_type_of_a_model_that_a_loader_looks_up(key: str) -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/o/lib/python3.10/site-packages/transformers/models/auto/configuration_auto.py", '
        f"line 734, in __getitem__\n    raise KeyError(key)\nKeyError: '{key}'"
    )
    titles = [title for _, title in said(text)]
    wanted = "names no model_type" if key == "model_type" else "architecture qwen3"
    assert any(wanted in title for title in titles), titles
