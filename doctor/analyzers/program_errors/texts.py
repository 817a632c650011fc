"""What is said of errors of the program itself."""

from __future__ import annotations

from doctor.analyzers.case import Precision
from doctor.analyzers.program_errors.equations import EINSUM
from doctor.analyzers.recipes import WINDOWS, code, variables
from doctor.analyzers.texts import Text

_SOUND = " The installation is sound."

TABLE: dict[str, Text] = {
    "index-out-of-range": Text(
        (
            "Index {index} is beyond size {size} of dimension {axis}",
            "Label {label} is beyond the number of classes",
            "An index is beyond the end of its table (embedding)",
        ),
        (
            "The program asks for an element that is not there. For an embedding, a token or "
            "position id is not below its number of rows." + _SOUND
        ),
        (
            code(
                "Compare the indices with the size of the table",
                "before the call that fails",
                "print(ids.min(), ids.max(), model.get_input_embeddings().num_embeddings)",
            ),
        ),
    ),
    "shapes-differ": Text(
        (
            "Shapes do not fit: {a} and {b} (dimension {axis})",
            "Shapes do not fit: {a} and {b}",
        ),
        (
            "The program combines two tensors whose sizes do not fit. It is an error of the "
            "program, or of a model with other inputs than these." + _SOUND
        ),
        (
            code(
                "Print the shapes before the call that the traceback names",
                "the line of your own code in the traceback",
                "print(x.shape, layer)",
            ),
        ),
    ),
    "channels-differ": Text(
        "A normalisation layer is made for {b} channels, and its input has {a}",
        (
            "The layer before it gives another number of channels than the layer was made with: "
            "the number of classes, of input channels or of features differs between two places "
            "of the settings, or layers were taken out." + _SOUND
        ),
        (
            code(
                "Set the same number in all places: where the model is made, and in the settings",
                "the place that makes the model",
                "print([(name, one.num_features) for name, one in model.named_modules() "
                'if "Norm" in type(one).__name__ and hasattr(one, "num_features")])',
                note="The printed list names the layer. Its size has to be that of the layer "
                "before it; often the number of classes, or what is joined to the picture, was "
                "changed in one place alone.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "checkpoint-shape": Text(
        (
            "The checkpoint is of another model: {parameter} is [{file}] there, [{model}] here",
            "The checkpoint is of another model: the shape of {parameter} differs",
        ),
        (
            "The model was made with other settings than the file: another size or variant, "
            "another number of classes or tokens." + _SOUND
        ),
        (
            code(
                "Make the model with the settings of the checkpoint",
                "the place that makes the model",
                "config = AutoConfig.from_pretrained(checkpoint)\nmodel = Model(config)",
                before="model = Model(other_config)",
            ),
        ),
        precision=Precision.EXACT,
        contradicts=("torch/checkpoint-other-names",),
    ),
    "types-differ": Text(
        "Two types of numbers meet in one operation: {a} and {b}",
        ("The model and its input, or two parts of the model, have different precisions." + _SOUND),
        (
            code(
                "Give the input the type of the model",
                "the call of the model",
                "model(x.to(next(model.parameters()).dtype))",
                before="model(x)",
            ),
            code(
                "Let autocast choose the types",
                "the call of the model",
                'with torch.autocast("cuda", dtype=torch.bfloat16):\n    model(x)',
                before="model(x)",
            ),
        ),
    ),
    "half-on-cpu": Text(
        "The processor has no {operation} for {type}: half precision where no GPU is used",
        "This operation was compiled for single precision only. The program runs in half "
        "precision on the processor: the model was not moved to a GPU, or no GPU was "
        "found.",
        (
            code(
                "Use single precision on the processor",
                "the call that loads the model",
                "torch_dtype=torch.float32",
                before="torch_dtype=torch.float16",
            ),
            code(
                "Move the model and its input to the GPU, where there is one",
                "before the call of the model",
                'model.to("cuda"); inputs = inputs.to("cuda")',
            ),
        ),
    ),
    "gpu-operator-lacks-type": Text(
        "{operation} runs on the GPU, and was not compiled for {type}",
        "The tensor got this type from the model, from autocast or from mixed precision." + _SOUND,
        (
            code(
                "Give this one call single precision, with autocast off around it",
                "the line that the traceback ends in",
                'with torch.autocast("cuda", enabled=False):\n    y = operation(x.float())',
                before="y = operation(x)",
                note="Where the result goes on in the model, give it the old type: y.to(x.dtype).",
            ),
            code(
                "Or train the whole model in single precision",
                "the options of the trainer",
                'precision="32-true"  # accelerate: mixed_precision="no"',
                before='precision="bf16-mixed"',
            ),
        ),
    ),
    "operator-lacks-type": Text(
        "The operation {operation} does not exist for the type {type}",
        ("The tensor has a type that this operation was not compiled for." + _SOUND),
    ),
    "devices-differ": Text(
        ("Tensors lie on two devices: {a} and {b}", "Tensors lie on two devices"),
        ("An input, a buffer or a part of the model was not moved with the rest." + _SOUND),
        (
            code(
                "Move the input to the device of the model",
                "the call of the model",
                "model(x.to(next(model.parameters()).device))",
                before="model(x)",
            ),
        ),
    ),
    "tensor-on-gpu": Text(
        "A tensor on {device} cannot become a NumPy array",
        ("NumPy reads memory of the processor only." + _SOUND),
        (
            code(
                "Copy it first",
                "the line of the error",
                "x.detach().cpu().numpy()",
                before="x.numpy()",
            ),
        ),
    ),
    "tensor-with-gradient": Text(
        "A tensor that records gradients cannot become a NumPy array",
        ("NumPy does not know gradients." + _SOUND),
        (
            code(
                "Detach it first",
                "the line of the error",
                "x.detach().cpu().numpy()",
                before="x.numpy()",
            ),
        ),
    ),
    "einsum-differs": EINSUM,
    "backward-twice": Text(
        "backward() runs twice through one graph, whose values are freed",
        (
            "A tensor of an earlier step, such as a hidden state or an accumulated loss, still "
            "belongs to the old graph." + _SOUND
        ),
        (
            code(
                "Cut the old graph off",
                "where the state goes into the next step",
                "state = state.detach()",
            ),
        ),
    ),
    "in-place-on-leaf": Text(
        "A parameter is changed in place while gradients are recorded",
        ("torch forbids it, since the gradient would be wrong." + _SOUND),
        (
            code(
                "Change it without recording",
                "the change",
                "with torch.no_grad():\n    parameter.add_(value)",
            ),
        ),
    ),
    "no-gradient": Text(
        "backward() is called on a tensor that records no gradient",
        (
            "All parameters are frozen, or the loss was computed under no_grad or from "
            "detached values. With gradient checkpointing of a frozen model, its inputs need "
            "gradients." + _SOUND
        ),
        (
            code(
                "Let the inputs record gradients",
                "after the model is loaded",
                "model.enable_input_require_grads()",
                use_if=("a transformers model is trained by adapters (LoRA)",),
            ),
        ),
    ),
    "graph-capture": Text(
        "A CUDA graph cannot record what the program does here",
        (
            "A copy to the processor, an allocation, a synchronization or printing a value is "
            "not allowed while a CUDA graph is recorded." + _SOUND
        ),
        (
            code(
                "Compile without CUDA graphs",
                "the call of torch.compile",
                'torch.compile(model, mode="default")',
                before='torch.compile(model, mode="reduce-overhead")',
            ),
        ),
    ),
    "forked-after-cuda": Text(
        "A forked child process uses {what}, which its parent started before",
        ("A CUDA context does not survive fork(2). The child has to be spawned." + _SOUND),
        (
            code(
                "Spawn child processes",
                "the start of the program",
                'torch.multiprocessing.set_start_method("spawn", force=True)',
            ),
            code(
                "Keep CUDA out of the data loader",
                "the data set",
                "return array  # moved to the GPU in the training loop",
            ),
            variables(
                "Have vLLM spawn its workers",
                {"VLLM_WORKER_MULTIPROC_METHOD": "spawn"},
                use_if=("the program is vLLM",),
            ),
        ),
    ),
    "loss-not-a-number": Text(
        "The numbers became NaN or infinite",
        "The computation diverged. Usual causes are a learning rate that is too high, half "
        "precision (float16) that overflows, a division by zero, or damaged input. The "
        "installation is usually sound.",
        (
            code(
                "Use bfloat16 instead of float16",
                "the settings of the precision",
                "dtype=torch.bfloat16",
                before="dtype=torch.float16",
            ),
            code(
                "Have torch name the operation",
                "the start of the program",
                "torch.autograd.set_detect_anomaly(True)",
            ),
        ),
    ),
    "empty-kernel-grid": Text(
        "A kernel was started with a grid that the GPU does not allow",
        "An empty input gives a grid of zero blocks; a very large one exceeds the limits. "
        "The size of the input is what to look at.",
        (code("Print the size of the input", "before the call that fails", "print(x.shape)"),),
    ),
    "kernel-access": Text(
        "A kernel has an invalid {access} of {size} bytes ({space} memory)",
        "The kernel that compute-sanitizer names below touches memory outside its "
        "allocation. It is an error of that kernel.",
    ),
    "main-guard": Text(
        "A process is started while the main module is imported",
        (
            "Child processes import the main module again on Windows and macOS. Without the "
            "guard, each of them starts children of its own." + _SOUND
        ),
        (
            code(
                "Guard the start of the program",
                "the end of the main script",
                'if __name__ == "__main__":\n    main()',
                before="main()",
            ),
            code(
                "Load data in the main process",
                "the data loader",
                "num_workers=0",
                use_if=(WINDOWS,),
            ),
        ),
    ),
    "not-picklable": Text(
        "{object} cannot be sent to another process",
        (
            "Child processes get their work by pickle, which knows classes and functions at "
            "the top of a module only: no lambda, local function, open file or lock." + _SOUND
        ),
        (
            code(
                "Move the function to the top of its module",
                "the function or class",
                "def collate(batch):\n    ...",
                before="collate = lambda batch: ...",
            ),
            code("Load data in the main process", "the data loader", "num_workers=0"),
        ),
    ),
}
