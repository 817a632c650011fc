"""Failures at run time whose message holds its own reason; the texts are genuine."""

from __future__ import annotations

from tests.analyzers.explained import explained
from tests.each import each

TRACE = 'Traceback (most recent call last):\n  File "{}", line 9, in f\n    {}\n{}'
NOT_MADE = "[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find an implementation for "
CASES = (
    (
        "Load model from m.onnx failed:Fatal error: ATen is not a registered function/op",
        "ATen, an operator of PyTorch",
        "Export with operators of ONNX alone",
    ),
    (
        "FAIL : Fatal error: com.microsoft:QMoE(-1) is not a registered function/op",
        "ONNX Runtime has no operator QMoE",
        "Take the newest ONNX Runtime",
    ),
    (
        "Fatal error: ai.onnx.contrib:BertTokenizer(-1) is not a registered function/op",
        "an operator of onnxruntime-extensions",
        "Install onnxruntime-extensions",
    ),
    (
        "INVALID_GRAPH : Error in Node:bn : Required attribute 'consumed_inputs' is missing.",
        "lacks the attribute consumed_inputs",
        "Convert the file to a later opset",
    ),
    (
        "Error Unrecognized attribute: mask_filter_value for operator Attention",
        "does not know mask_filter_value of its own operator Attention yet",
        "newest ONNX Runtime where the model is loaded",
    ),
    (
        "cntk.py: Node: Unrecognized attribute: ceil_mode for operator MaxPool",
        "CNTK does not know ceil_mode",
        "with ONNX Runtime",
    ),
    (
        f"{NOT_MADE}the node BatchNormalization(1)",
        "BatchNormalization of opset 1",
        "Convert the file to a later opset",
    ),
    (
        f"{NOT_MADE}the node ArgMax_1094:ArgMax(11)",
        "no ArgMax of opset 11 for these types",
        "Give ArgMax float32 or int64",
    ),
    (
        f"{NOT_MADE}BatchNormInternal(1) node with name 'b'",
        "an operator of training",
        "in evaluation mode",
    ),
    (
        f"{NOT_MADE}ConvInteger(10) node with name 'c'",
        "no ConvInteger of opset 10",
        "Quantize with a type that exists",
    ),
    (
        "ModelCheckpoint(monitor='val_loss') not found in the returned metrics: ['loss', 'acc']. H",
        "ModelCheckpoint watches val_loss",
        "Watch a metric that the model logs",
    ),
    (
        "The provided lr scheduler `ExponentialLR` doesn't follow PyTorch's LRScheduler API.",
        "older than torch 2",
        "last Lightning 1",
    ),
    (
        "ValueError: ('Unrecognized keyword arguments:', dict_keys(['ragged']))",
        "The model file names ragged",
        "last TensorFlow of Keras 2",
    ),
    (
        "gguf_init_from_file: failed to open GGUF file '/models/a.gguf'",
        "llama.cpp cannot open /models/a.gguf",
        "who may read it",
    ),
    (
        (
            "ValueError: Pipeline <class 'diffusers_modules.git.mega.MegaPipeline'> expected "
            "{'vae', 'unet', 'safety'}, but only {'vae', 'unet'} were passed."
        ),
        "MegaPipeline is a pipeline of the community",
        "Take the newest diffusers",
    ),
    (
        "Value error, No model architectures are specified [input: mistralai/Mistral-Small-4]",
        "config.json of the model names no architecture",
        "in the format of Mistral",
    ),
    (
        "Failed to match keys when loading Lora C:\\a\\b.safetensors: ['x_downsamplers_0.alpha']",
        "kind of LoRA",
        "Bring the web UI up to date",
    ),
    (
        TRACE.format(
            "train.py", "loss.backward()", "RuntimeError: Found dtype Double but expected Float"
        ),
        "The loss was computed in Double",
        "Write what took its place",
    ),
    (
        "RuntimeError: Expected object of scalar type Byte but got scalar type Bool for sequence",
        "own mask is Byte",
        "Write what took its place",
    ),
    (
        "TypeError: expected Tensor as element 0 in argument 0, but got str",
        "names of a model's outputs for the outputs",
        "Write what took its place",
    ),
    (
        "AttributeError: 'InternLM2ForCausalLM' object has no attribute 'generate'",
        "InternLM2ForCausalLM has no generate",
        "a transformers of the time",
    ),
    (
        "TypeError: SFTTrainer.__init__() got an unexpected keyword argument 'max_seq_length'",
        "trl lacks the parameter max_seq_length of SFTTrainer",
        "Take a trl that has it",
    ),
    (
        TRACE.format(
            "modules/loader.py",
            "crop = ScaleCropImage(names=inputs)",
            "TypeError: ScaleCropImage.__init__() got an unexpected keyword argument 'names'",
        ),
        "loader.py hands names to ScaleCropImage",
        "releases that the program was written for",
    ),
    (
        TRACE.format(
            "main.py",
            "trainer = pl.Trainer(callback)",
            "ValueError: Invalid type. Pass callback instances to the `callbacks` argument instead",
        ),
        "refuses what it was given",
        "Pass callback instances",
    ),
    (
        "llama_new_context_with_model: V cache quantization requires flash_attn",
        "with flash attention alone",
        "Switch flash attention on",
    ),
    (
        "error loading model: llama_model_loader: failed to load model from D:\\model.safetensors",
        "model.safetensors is no GGUF file",
        "Download the model as GGUF",
    ),
    (
        "Could not load Llama model from path: /m/a.ggmlv3.q4_0.bin. Received error",
        "a.ggmlv3.q4_0.bin is no GGUF file",
        "Download the model as GGUF",
    ),
    (
        "error loading model: unexpectedly reached end of file",
        "ends before its tensors do",
        "download it again",
    ),
    (
        (
            "INVALID_ARGUMENT:  Cannot batch tensors with different shapes in component 0. First "
            "element had shape [408,500,3] and element 1 had shape [360,343,3]."
        ),
        "differ in size: [408,500,3] and [360,343,3]",
        "one size before the batch",
    ),
    (
        "ValueError: FSDP requires PyTorch >= 2.1.0",
        "The program wants torch >=2.1.0",
        "Install torch>=2.1.0",
    ),
    (
        "ValueError: fsdp2 is not a valid FSDPOption, please select one of ['full', 'offload']",
        "refuses what it was given",
        "Give one of the values that the program takes: full, offload",
    ),
    (
        "TranscriptionOptions.__new__() missing 1 required positional argument: 'hotwords'",
        "faster-whisper asks for the parameter hotwords",
        "Go back to a faster-whisper",
    ),
)


def test_the_reason_and_its_cure() -> None:
    def look(case: tuple[str, str, str]) -> None:
        text, title, fix = case
        found = explained(text)
        here = [one for one in found if title in one.detection.title]
        assert here, [one.detection.title for one in found]
        assert fix in here[0].detection.recipes[0].title, here[0].detection.recipes[0].title

    each(((case[0][:60], case) for case in CASES), look)


def test_an_edit_stands_at_the_program_s_own_line() -> None:
    """What a message asks for is shown at the statement that provoked it, with its values."""
    text = TRACE.format(
        "/home/ada/train.py",
        "config = LoraConfig(task_type='Vector_LM')",
        "ValueError: Invalid task type: 'Vector_LM'. Must be one of the following task types: "
        "SEQ_CLS, CAUSAL_LM.",
    )
    (found,) = [one for one in explained(text) if "message-says" in one.detection.id]
    snippet = found.detection.recipes[0].snippet
    assert snippet is not None
    assert (snippet.where, snippet.before) == ("train.py, line 9", "Vector_LM")
    assert snippet.after == "SEQ_CLS"


def test_a_class_of_transformers_itself_is_left_alone() -> None:
    text = "AttributeError: 'GPT2LMHeadModel' object has no attribute 'generate'"
    assert not [one for one in explained(text) if "generate" in one.detection.id]
