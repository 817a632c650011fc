"""What torch, torchvision and the libraries around them once had."""

from __future__ import annotations

from doctor.analyzers.former_names.rows import Edit, FormerName
from doctor.model.issues import Action, Option, Recipe

ROWS: tuple[FormerName, ...] = (
    FormerName(
        "Integer division of tensors",
        r"Integer division of tensors using div or / is no longer supported",
        "torch 1.5 and 1.6 refuse to divide whole numbers by /",
        "Up to 1.4 the result was a whole number, since 1.7 it is a fraction.",
        (Edit("a / b", "a // b"),),
        package="torch",
    ),
    FormerName(
        "be cast to the desired",
        r"result type Float can't be cast to the desired output type (?P<kind>long int|__int64"
        r"|Long)",
        "A tensor of whole numbers is changed in place by one with fractions",
        "torch refuses since 1.11 to round the result silently. In YOLOv5 and YOLOv7 of that time "
        "the line stands in utils/loss.py.",
        (
            Edit(
                "gj.clamp_(0, gain[3] - 1), gi.clamp_(0, gain[2] - 1)",
                "gj.clamp_(0, gain[3].long() - 1), gi.clamp_(0, gain[2].long() - 1)",
                "Elsewhere: give the other operand .long(), or the tensor .float() before.",
            ),
        ),
        package="torch",
    ),
    FormerName(
        "invalid index of a 0-dim",
        r"invalid index of a 0-dim tensor",
        "A single number is no longer reached by [0]",
        "A loss was a tensor with one element up to torch 0.3.",
        (Edit("loss.data[0]", "loss.item()"),),
        package="torch",
    ),
    FormerName(
        "with a bool tensor",
        r"Subtraction, the `-` operator, with",
        "Masks are of type bool since torch 1.2, and cannot be subtracted",
        "They were numbers of 8 bits before.",
        (Edit("1 - mask", "~mask", "Where it has to be a number: 1 - mask.float()."),),
        package="torch",
    ),
    FormerName(
        "with more than one value is",
        r"[Bb]ool(?:ean)? value of Tensor with more than one value is ambiguous",
        "A tensor with several values is asked whether it is true",
        "Mostly a loss or a layer is made with the data, where it should be called with them; or a "
        "tensor stands in a condition.",
        (
            Edit("nn.MSELoss(output, target)", "nn.MSELoss()(output, target)"),
            Edit("if mask:", "if mask.any():"),
        ),
        package="torch",
    ),
    FormerName(
        "Found dtype",
        r"Found dtype (?P<given>\w{3,12}) but expected (?P<wanted>\w{3,12})",
        "The loss was computed in {given}, and the model computes in {wanted}",
        "A target or a weight that came from numpy is double, and makes the loss double.",
        (
            Edit(
                "loss = criterion(output, target)",
                "loss = criterion(output, target.to(output.dtype))",
                "For what comes from numpy: torch.from_numpy(x).float().",
            ),
        ),
        package="torch",
    ),
    FormerName(
        "xpected object of",
        r"[Ee]xpected object of (?:scalar )?type (?:Byte|Bool) but (?:got|found) "
        r"(?:scalar )?type (?:Byte|Bool)",
        "A comparison gives Bool since torch 1.2, and the program's own mask is Byte",
        "The program was written for an older torch, where both were Byte.",
        (Edit("mask = mask.byte()", "mask = mask.bool()", "torch.bool for torch.uint8, too."),),
        package="torch",
    ),
    FormerName(
        "xpected object of",
        r"[Ee]xpected object of (?:scalar )?type (?P<wanted>\w{3,8}) but (?:got|found) "
        r"(?:scalar )?type (?P<given>\w{3,8})",
        "The operation wants {wanted}, and one of its tensors is {given}",
        "Arrays of numpy are double as a rule, labels have to be long, and images float.",
        (
            Edit(
                "loss(output, target)",
                "loss(output.float(), target.long())",
                "For a loss of numbers (MSELoss, BCE): target.float(). For what comes from numpy: "
                "torch.from_numpy(x).float().",
            ),
        ),
        package="torch",
    ),
    FormerName(
        "str",
        r"expected Tensor as element \d{1,3} in argument \d{1,2}, but got str"
        r"|argument '(?:input|tensor|self)' \(position 1\) must be Tensor, not str",
        "The program takes the names of a model's outputs for the outputs",
        "transformers 4 returns an output with names, as a dictionary does. Taken apart into "
        "variables, it gives its names; version 3 returned a tuple.",
        (
            Edit(
                "hidden, pooled = model(input_ids)",
                "hidden, pooled = model(input_ids, return_dict=False)",
                "return_dict=False in from_pretrained holds for each call of the model.",
            ),
        ),
        package="transformers",
    ),
    FormerName(
        "view size is not",
        r"view size is not compatible with input tensor's size and stride",
        "view() is called on a tensor that does not lie in one piece",
        "A transposition or a slice came before; reshape() copies where it has to.",
        (Edit("x.view(n, -1)", "x.reshape(n, -1)"),),
        package="torch",
    ),
    FormerName(
        "1D CPU int64",
        r"lengths' argument should be a 1D CPU int64 tensor",
        "pack_padded_sequence() wants the lengths on the CPU since torch 1.7",
        "They were accepted on the GPU before.",
        (Edit("pack_padded_sequence(x, lengths)", "pack_padded_sequence(x, lengths.cpu())"),),
        package="torch",
    ),
    FormerName(
        "leaf Variable that requires",
        r"leaf Variable that requires grad",
        "A parameter is changed in place while gradients are recorded",
        "torch refuses this since 1.5 for slices of a parameter too.",
        (
            Edit(
                "parameter[:, 4] += x",
                "with torch.no_grad():\n    parameter[:, 4] += x",
                "In YOLO's code: b = m.bias.view(m.na, -1).detach(), and "
                "m.bias = torch.nn.Parameter(b.view(-1)).",
            ),
        ),
        package="torch",
    ),
    FormerName(
        "has no attribute 'next'",
        r"'_(?:Multi|Single)Process(?:ing)?DataLoaderIter' object has no attribute 'next'",
        "torch 1.13 dropped next() of the data loader's iterator",
        "Python's own function takes its place in each release.",
        (Edit("iterator.next()", "next(iterator)"),),
        package="torch",
    ),
    FormerName(
        "'verbose'",
        r"(?P<name>\w{3,30}LR|ReduceLROnPlateau|__init__)(?:\.__init__)?\(\) got an unexpected "
        r"keyword argument 'verbose'",
        "The schedulers of torch take no verbose any more",
        "The argument was deprecated in torch 2.2, and is gone in newer releases.",
        (
            Edit(
                "ReduceLROnPlateau(optimizer, verbose=True)",
                "ReduceLROnPlateau(optimizer)",
                "Print scheduler.get_last_lr() where the rate shall be shown.",
            ),
        ),
        package="torch",
        near=r"LR\b|ReduceLROnPlateau|scheduler",
    ),
    FormerName(
        "get_last_lr",
        r"'(?P<name>\w{3,40})' object has no attribute 'get_last_lr'",
        "This torch has no {name}.get_last_lr()",
        "The method came with torch 1.4, and for ReduceLROnPlateau with 2.2.",
        (Edit("scheduler.get_last_lr()[0]", 'optimizer.param_groups[0]["lr"]'),),
        package="torch",
    ),
    FormerName(
        "torchvision.transforms",
        r"has no attribute '(?P<name>Scale|RandomSizedCrop)'",
        "torchvision 0.12 dropped transforms.{name}",
        "It has another name since 0.2.",
        (
            Edit("transforms.Scale(size)", "transforms.Resize(size)"),
            Edit("transforms.RandomSizedCrop(size)", "transforms.RandomResizedCrop(size)"),
        ),
        package="torchvision",
    ),
    *(
        FormerName(
            "has no attribute '",
            rf"object has no attribute '(?P<kind>train|test)_{old}'",
            f"torchvision's data sets have no {{kind}}_{old} any more",
            "Since torchvision 0.3 the pictures are data and the labels targets, for training and "
            "for testing alike.",
            (Edit(f"self.{{kind}}_{old}", f"self.{new}"),),
            package="torchvision",
        )
        for old, new in (("data", "data"), ("labels", "targets"))
    ),
    FormerName(
        "() takes",
        r"\b(?P<name>add_|add|addcmul_|addcdiv_|sub_|addmm_|baddbmm_?)\(\) takes \d positional "
        r"arguments? but \d",
        "torch takes the factor of {name}() by its name alone",
        "It stood in front up to torch 1.4.",
        (
            Edit(
                "p.data.add_(-lr, grad)",
                "p.data.add_(grad, alpha=-lr)",
                "addcmul_(value, a, b) becomes addcmul_(a, b, value=value).",
            ),
        ),
        package="torch",
    ),
    FormerName(
        "Outputs' object has no",
        r"'(?P<name>InceptionOutputs|GoogLeNetOutputs|_InceptionOutputs)' object has no attribute",
        "Inception and GoogLeNet give several outputs while they are trained",
        "The first is that of the model, the others those of its auxiliary classifiers.",
        (
            Edit("loss = criterion(model(x), y)", "loss = criterion(model(x).logits, y)"),
            Edit("models.inception_v3()", "models.inception_v3(aux_logits=False)"),
        ),
        package="torch",
    ),
    FormerName(
        "torch.nn",
        r"module 'torch\.nn\.(?P<module>init|utils)' has no attribute '(?P<name>kaiming_normal"
        r"|kaiming_uniform|xavier_normal|xavier_uniform|normal|uniform|constant|orthogonal"
        r"|clip_grad_norm)'",
        "torch.nn.{module}.{name} has an underscore behind its name today",
        "Functions that change a tensor in place are called so since torch 0.4.",
        (Edit("nn.{module}.{name}(x)", "nn.{module}.{name}_(x)"),),
        package="torch",
    ),
    FormerName(
        "get_filesystem",
        r"gfile' has no attribute 'get_filesystem'",
        "TensorBoard's writer meets the files of TensorFlow, which have no get_filesystem",
        "torch.utils.tensorboard takes TensorFlow's gfile where TensorFlow is installed.",
        (
            Edit(
                "from torch.utils.tensorboard import SummaryWriter",
                "import tensorflow as tf\nimport tensorboard as tb\n"
                "tf.io.gfile = tb.compat.tensorflow_stub.io.gfile",
                "Before the writer is made. Where nothing needs TensorFlow, remove it.",
            ),
        ),
    ),
    FormerName(
        "CUDNN_STATUS_SUCCESS",
        r"(?i)cudnn error: CUDNN_STATUS_SUCCESS",
        "The GPU is newer than the CUDA of this old torch",
        "Builds for CUDA 9 say so on Turing cards (RTX 20, GTX 16, T4) and newer ones.",
        recipes=(
            Recipe(
                title="Take the last torch 1.x, whose build is for a newer CUDA",
                steps=(
                    Action(
                        install=("torch==1.13.1+cu117",),
                        companions=("torchvision==0.14.1+cu117", "torchaudio==0.13.1+cu117"),
                        index="https://download.pytorch.org/whl/cu117",
                    ),
                ),
                use_if=(
                    "the program runs with it, and Python is 3.7 to 3.10, on Linux up to 3.11",
                ),
                note="A program for torch 0.4 or 1.0 may need torch 1.2 for CUDA 10.0 instead, "
                "which serves Turing.",
            ),
        ),
    ),
    FormerName(
        "'verify'",
        r"FormatCode\(\) got an unexpected keyword argument 'verify'",
        "This mmcv or mmengine is older than the installed yapf",
        "yapf 0.40.2 dropped the argument verify.",
        package="mmcv",
        recipes=(
            Recipe(
                title="Go back to yapf 0.40.1",
                steps=(Action(install=("yapf==0.40.1",)),),
            ),
        ),
    ),
    FormerName(
        "AdamW",
        r"cannot import name 'AdamW' from 'transformers",
        "transformers has no AdamW of its own any more",
        "It was the optimizer of torch under another name, and left with 4.50.",
        (Edit("from transformers import AdamW", "from torch.optim import AdamW"),),
        package="transformers",
        pins=("transformers<4.50",),
        python="3.13",
        contradicts=("transformers/name-removed",),
    ),
    *(
        FormerName(
            "pytorch_",
            rf"No module named '(?P<name>{module})'",
            "{name} is the name that transformers had in 2019",
            "The old package still stands in the index, for the old names of classes.",
            (Edit(f"from {module} import BertModel", "from transformers import BertModel"),),
            recipes=(
                Recipe(
                    title="Install the old package, where its classes are needed",
                    steps=(
                        Action(install=(module.replace("_", "-"),), options=(Option.HOLD_TORCH,)),
                    ),
                ),
            ),
        )
        for module in ("pytorch_transformers", "pytorch_pretrained_bert")
    ),
)
