"""Explain what TensorFlow and Keras report of programs, their input and their saved models."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import code, command, variables
from doctor.analyzers.texts import Text, explained
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Severity

_SOUND = " The installation is sound."


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what is wrong with a program, an input or a saved model."""
    yield from explained(case, _TABLE)


_TABLE: dict[str, Text] = {
    "tf-shapes-differ": Text(
        "Shapes do not fit: {a} and {b}",
        "The model and its input or labels have other sizes: another picture size, a number of "
        "classes that differs from the last layer, or labels of the other form (numbers or "
        "one-hot)." + _SOUND,
        (
            code(
                "Print the shapes of what goes in, and give the last layer as many units as "
                "classes",
                "before fit()",
                "print(x.shape, y.shape, model.input_shape, model.output_shape)",
                note="Labels that are numbers want sparse_categorical_crossentropy, one-hot labels "
                "categorical_crossentropy.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "tf-checkpoint-path": Text(
        (
            "TensorFlow finds no checkpoint under {prefix}",
            "{file} is no checkpoint that TensorFlow can read by this name",
            "{path} is no checkpoint: it is a folder, or a file that may not be read",
        ),
        "A checkpoint of TensorFlow is several files, such as model-1000.index and "
        "model-1000.data-00000-of-00001. It is named by what they have in common (model-1000), not "
        "by the folder, and not by one of them." + _SOUND,
        (
            command(
                "See the names in the folder, and hand in what they share before .index",
                *("{python.executable}", "-c"),
                "import glob, sys; print([f[:-6] for f in glob.glob(sys.argv[1] + '/*.index')])",
                "<folder>",
                ask={"folder": "the folder of the checkpoint"},
                look=True,
                note="Where the list is empty, the weights were not downloaded, or git-lfs left "
                "small files in their place.",
            ),
            code(
                "Have TensorFlow find the newest one in a folder",
                "the place that restores the checkpoint",
                "path = tf.train.latest_checkpoint(folder)\nsaver.restore(session, path)",
                before="saver.restore(session, folder)",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "tf-label-out-of-range": Text(
        "Label {label} is beyond the {classes} classes of the model",
        "Labels count from 0, so the largest one is the number of classes minus 1. They start at 1 "
        "here, or the last layer has too few units." + _SOUND,
        (
            code(
                "Give the last layer one unit more, or count the labels from 0",
                "the last layer",
                "layers.Dense(number_of_classes)  # max(labels) + 1",
                before="layers.Dense({log.classes})",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "tf-index-out-of-range": Text(
        "Index {index} is beyond the {rows} rows of a table (embedding)",
        "The ids count from 0 and have to be below input_dim of the embedding: the vocabulary "
        "grew, "
        "or id 0 was kept free and not counted." + _SOUND,
        (
            code(
                "Make the table as large as the vocabulary",
                "the layer",
                "layers.Embedding(vocabulary_size + 1, size)",
                before="layers.Embedding({log.rows}, size)",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "tf-gpu-memory-full": Text(
        "The GPU's memory is full, or cuDNN gets none of it",
        "TensorFlow takes nearly all memory of a GPU at its start. Another process holds a part of "
        "it, the model or batch is too large, or nothing is left for cuDNN.",
        (
            variables(
                "Let TensorFlow take memory as it needs it",
                {"TF_FORCE_GPU_ALLOW_GROWTH": "true"},
                note="Restart the notebook or program, so that the memory of earlier runs is free.",
            ),
            command("See who holds the memory", "nvidia-smi", look=True),
            code(
                "Take a smaller batch",
                "the call that trains",
                "model.fit(x, y, batch_size=8)",
                before="model.fit(x, y, batch_size=64)",
            ),
        ),
        severity=Severity.ERROR,
    ),
    "tf-device-not-there": Text(
        "The program places {operation} on {device}, which TensorFlow does not have",
        "The device is named in the program, and TensorFlow sees no such GPU, or has no code of "
        "this operation for it.",
        (
            code(
                "Let TensorFlow take another device then",
                "the start of the program",
                "tf.config.set_soft_device_placement(True)",
            ),
            command(
                "See which devices TensorFlow has",
                "{python.executable}",
                "-c",
                "import tensorflow as tf; print(tf.config.list_physical_devices())",
                look=True,
            ),
        ),
        precision=Precision.EXACT,
    ),
    "tf-not-compilable": Text(
        "XLA cannot compile an operation of the model",
        "Keras 3 compiles models with XLA on a GPU (jit_compile='auto'). Operations that XLA has "
        "no "
        "code for, such as those on strings, sparse tensors or shapes that change, fail there and "
        "run well without it.",
        (
            code(
                "Do not compile the model with XLA",
                "the call of compile()",
                "model.compile(..., jit_compile=False)",
                before="model.compile(...)",
                note="Where XLA is switched on for all of TensorFlow: unset TF_XLA_FLAGS, and "
                "tf.config.optimizer.set_jit(False).",
            ),
        ),
        precision=Precision.EXACT,
        severity=Severity.ERROR,
    ),
    "tf-xla-device": Text(
        "XLA does not take GPU {device}",
        "XLA looks at all GPUs that are visible and refuses one of another kind or one that is too "
        "old, such as the small card for the screen.",
        (
            variables(
                "Show TensorFlow the other GPUs alone",
                {"CUDA_VISIBLE_DEVICES": "0"},
                note="List the numbers of those that are to compute, as 0,1. Set "
                "CUDA_DEVICE_ORDER=PCI_BUS_ID too, so that they count as in nvidia-smi.",
            ),
        ),
        precision=Precision.EXACT,
        severity=Severity.ERROR,
    ),
    "tf-variables-later": Text(
        "A tf.function makes variables after its first call",
        "Variables, such as those of layers and optimizers, may be made once only." + _SOUND,
        (
            code(
                "Make layers and optimizers outside of the function",
                "before the function with @tf.function",
                "optimizer = tf.keras.optimizers.Adam()\n\n@tf.function\ndef step(x): ...",
                note="A second optimizer or model wants a tf.function of its own. "
                "tf.config.run_functions_eagerly(True) shows whether that is the cause.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "tf-batch-shapes": Text(
        "The elements of a batch differ in size: [{a}] and [{b}]",
        "A batch is one array, so that all its elements need the same size. Here the data set "
        "gives images or sequences as they are.",
        (
            code(
                "Bring all to one size before the batch",
                "the data set",
                "ds = ds.map(lambda x, y: (tf.image.resize(x, (224, 224)), y)).batch(32)",
                before="ds = ds.batch(32)",
                note="Sequences: ds.padded_batch(32).",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "keras-setting-unknown": Text(
        "The model file names {setting}, which the layers of this TensorFlow do not know",
        "A newer TensorFlow saved the file: `ragged` came with 1.15 and 2.1, `batch_shape` with "
        "Keras 3.",
        (
            Recipe(
                title="Load it with the last TensorFlow of Keras 2",
                use_if=("the setting is not batch_shape",),
                steps=(Action(install=("tensorflow==2.15.*",)),),
                note="The release that saved the file is the safest one.",
            ),
            Recipe(
                title="Load it with the newest TensorFlow",
                steps=(Action(install=("tensorflow",), options=(Option.UPGRADE,)),),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "keras-layer-unknown": Text(
        "The saved model names {name}, which Keras does not know here",
        "The file holds the name alone. Classes and functions of your own have to be handed to the "
        "call that loads it; a class of another package has to be imported from there.",
        (
            code(
                "Hand it to the call that loads the model",
                "the call that loads the model",
                "load_model(path, custom_objects=dict({log.name}={log.name}))",
                before="load_model(path)",
            ),
            code(
                "Leave the training settings out, where it is a loss, metric or optimizer",
                "the call that loads the model",
                "load_model(path, compile=False)",
                before="load_model(path)",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "keras-input-shape": Text(
        "The layer {layer} gets an input of another shape: {said}",
        "What is handed in does not have the shape that the model was made for: a missing batch or "
        "channel dimension, another picture size, or data that was not flattened." + _SOUND,
        (
            code(
                "Compare both shapes, and reshape the input",
                "before the call of the model",
                "print(model.input_shape, x.shape)\nx = x.reshape((-1, *model.input_shape[1:]))",
                note="A single picture wants x[None, ...] for the batch.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "keras-file-name": Text(
        "Keras wants a file name that ends in {ends}",
        "Since Keras 3 the ending chooses the format: .keras for a model, .weights.h5 for weights.",
        (
            code(
                "Give the name that ending",
                "the call that saves, or ModelCheckpoint",
                'ModelCheckpoint("model{log.ends}")',
                before='ModelCheckpoint("model.h5")',
            ),
            Recipe(
                title="Go back to Keras 2, where the program has to stay as it is",
                steps=(Action(install=("tensorflow<2.16",)),),
                use_if=("Python is older than 3.12",),
            ),
        ),
        precision=Precision.EXACT,
    ),
    "keras-decay": Text(
        "The optimizers of Keras no longer take {name}",
        "Since TensorFlow 2.11 the optimizers take learning_rate, and a schedule in place of "
        "decay.",
        (
            code(
                "Use the names of today",
                "the line that makes the optimizer",
                "Adam(learning_rate=1e-3)",
                before="Adam(lr=1e-3, decay=1e-6)",
            ),
            code(
                "Take the optimizers from before",
                "the line that makes the optimizer",
                "tf.keras.optimizers.legacy.Adam(learning_rate=1e-3, decay=1e-6)",
                use_if=("Keras 2 (TensorFlow 2.11 to 2.15) is installed",),
            ),
        ),
        precision=Precision.EXACT,
    ),
    "keras-call-inputs": Text(
        "A model gets its inputs by the names of Keras 2: Functional.call() misses inputs",
        "Keras 3 takes the inputs as the first argument alone. A list of tensors, or a program for "
        "Keras 2 (such as tf2onnx or SHAP of older releases), hands them in another way.",
        (
            Recipe(
                title="Let TensorFlow use Keras 2",
                steps=(
                    Action(install=("tf-keras",)),
                    Action(env={"TF_USE_LEGACY_KERAS": "1"}),
                ),
            ),
        ),
        severity=Severity.ERROR,
    ),
}
