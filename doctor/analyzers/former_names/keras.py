"""What Keras and TensorFlow once had."""

from __future__ import annotations

from doctor.analyzers.former_names.rows import Edit, FormerName
from doctor.model.issues import Action, Option, Recipe

_KERAS_MOVED = ("tensorflow/keras-other-release",)


def _keras(pattern: str, title: str, before: str, after: str) -> FormerName:
    return FormerName(
        "keras",
        pattern,
        title,
        "The program was written for Keras before 2.9. What it imports is reached through "
        "tensorflow.keras in each TensorFlow 2.",
        (Edit(before, after),),
        package="keras",
        contradicts=_KERAS_MOVED,
    )


ROWS: tuple[FormerName, ...] = (
    FormerName(
        "has no attribute 'tf'",
        r"module 'keras(?:\.api\._v2\.keras|\.src)?\.backend' has no attribute 'tf'",
        "keras.backend no longer hands out TensorFlow as K.tf",
        "Keras before 2.3 imported TensorFlow there. The program means TensorFlow itself.",
        (
            Edit(
                "K.tf.GPUOptions(...)",
                "import tensorflow as tf\ntf.compat.v1.GPUOptions(...)",
                "Each K.tf becomes tf. What TensorFlow 2 dropped lies in tf.compat.v1.",
            ),
        ),
        package="keras",
        pins=("keras==2.2.5", "tensorflow==1.14.*", "h5py<3", "protobuf<3.21"),
        python="3.7",
        contradicts=_KERAS_MOVED,
    ),
    FormerName(
        "has no attribute 'decode'",
        r"'str' object has no attribute 'decode'",
        "h5py 3 gives text where this old Keras expects bytes",
        "Keras before TensorFlow 2.4 decodes what it reads of a saved model.",
        (),
        package="keras",
        pins=("h5py<3", "numpy<1.24"),
        python="3.8",
        near=r"keras_version|model_config|hdf5_format|saving\.py|topology\.py|load_weights|f\.attrs",
    ),
    FormerName(
        "'lr'",
        r"\b(?P<name>Adam|SGD|RMSprop|Adagrad|Adadelta|Adamax|Nadam|Ftrl|Optimizer)\b.{0,40}"
        r"unexpected keyword argument 'lr'",
        "The optimizers of Keras take no lr any more",
        "The argument is called learning_rate since Keras 2.3.",
        (Edit("{name}(lr=0.001)", "{name}(learning_rate=0.001)"),),
        package="keras",
    ),
    *(
        FormerName(
            "predict_",
            rf"'(?:Sequential|Functional|Model)' object has no attribute '(?P<name>{old})'",
            "TensorFlow 2.6 dropped {name}()",
            "predict() gives the probabilities, and numpy the class.",
            (Edit(f"model.{old}(x)", new, note),),
            package="keras",
        )
        for old, new, note in (
            (
                "predict_classes",
                "np.argmax(model.predict(x), axis=-1)",
                "For two classes with one output: (model.predict(x) > 0.5).astype(int).",
            ),
            ("predict_proba", "model.predict(x)", ""),
        )
    ),
    FormerName(
        "_generator'",
        r"object has no attribute '(?P<name>fit|evaluate|predict)_generator'",
        "Keras dropped {name}_generator()",
        "{name}() takes generators too since TensorFlow 2.1.",
        (Edit("model.{name}_generator(g)", "model.{name}(g)"),),
        package="keras",
    ),
    FormerName(
        "KeyError",
        r"KeyError: '(?P<name>(?P<of>val_|)acc)'",
        "Keras calls the accuracy {of}accuracy, and no longer {name}",
        "The names in the history are those of the metrics since Keras 2.3.",
        (
            Edit(
                'history.history["{name}"]',
                'history.history["{of}accuracy"]',
                "The monitor of ModelCheckpoint and EarlyStopping has the new name too.",
            ),
        ),
        package="keras",
        near=r"(?i)keras|history|tensorflow",
    ),
    FormerName(
        "not understood",
        r"Keyword argument not understood: '?,? ?'?(?P<name>groups|ragged|synchronized|keepdims"
        r"|interpolation|batch_shape|value_range)",
        "The saved model was made with a newer Keras than this one",
        "It names the setting {name}, which came later.",
        recipes=(
            Recipe(
                title="Take the TensorFlow that saved it, or a newer one",
                steps=(Action(install=("tensorflow<2.16",), options=(Option.UPGRADE,)),),
                note="Where the program needs its old TensorFlow: save the model again there.",
            ),
        ),
    ),
    FormerName(
        "'ragged'",
        r"__init__\(\) got an unexpected keyword argument 'ragged'",
        "The saved model is of tf.keras, and the standalone Keras loads it",
        "tf.keras writes ragged for each input, which Keras 2.3 and older does not know.",
        (
            Edit(
                "from keras.models import load_model",
                "from tensorflow.keras.models import load_model",
            ),
        ),
        package="keras",
    ),
    FormerName(
        "Unknown layer: ",
        r"Unknown layer: '?(?P<name>Functional)",
        "The saved model was made with TensorFlow 2.4 or newer, and an older one loads it",
        "Functional is the name that TensorFlow 2.4 gave to models.",
        recipes=(
            Recipe(
                title="Take the TensorFlow that saved it, or a newer one",
                steps=(Action(install=("tensorflow>=2.4,<2.16",)),),
            ),
        ),
    ),
    _keras(
        r"cannot import name '(?P<name>Adam|SGD|RMSprop|Adagrad|Adadelta|Adamax|Nadam)' from "
        r"'keras\.optimizers'",
        "keras.optimizers has no {name} in this release",
        "from keras.optimizers import {name}",
        "from tensorflow.keras.optimizers import {name}",
    ),
    _keras(
        r"cannot import name '(?P<name>to_categorical|plot_model|Sequence)' from 'keras\.utils'",
        "keras.utils has no {name} in this release",
        "from keras.utils import {name}",
        "from tensorflow.keras.utils import {name}",
    ),
    _keras(
        r"cannot import name '(?P<name>BatchNormalization|LayerNormalization)' from "
        r"'keras\.layers\.normalization",
        "keras.layers.normalization has no {name} in this release",
        "from keras.layers.normalization import {name}",
        "from tensorflow.keras.layers import {name}",
    ),
    _keras(
        r"No module named 'keras\.layers\.(?P<name>core|convolutional|recurrent|embeddings|merge"
        r"|advanced_activations|pooling|wrappers|normalization|local|noise)'",
        "Keras has no module keras.layers.{name} any more",
        "from keras.layers.{name} import Dense",
        "from tensorflow.keras.layers import Dense",
    ),
    _keras(
        r"No module named 'keras\.engine(?:\.(?P<name>topology|base_layer|training|input_layer))?'",
        "Keras has no module keras.engine any more",
        "from keras.engine.topology import Layer, InputSpec",
        "from tensorflow.keras.layers import Layer, InputSpec",
    ),
    _keras(
        r"No module named 'keras\.utils\.(?P<name>vis_utils|np_utils|generic_utils|training_utils"
        r"|data_utils)'",
        "Keras has no module keras.utils.{name} any more",
        "from keras.utils.{name} import plot_model",
        "from tensorflow.keras.utils import plot_model",
    ),
    _keras(
        r"No module named 'keras\.backend\.(?P<name>tensorflow_backend)'|module "
        r"'keras\.backend\.tensorflow_backend' has no attribute",
        "Keras has no module keras.backend.tensorflow_backend any more",
        "from keras.backend.tensorflow_backend import set_session",
        "from tensorflow.compat.v1.keras.backend import set_session",
    ),
    _keras(
        r"No module named 'keras\.preprocessing\.(?P<name>image|sequence|text)'",
        "Keras has no module keras.preprocessing.{name} in this release",
        "from keras.preprocessing.{name} import load_img",
        "from tensorflow.keras.preprocessing.{name} import load_img",
    ),
    FormerName(
        "tensorflow.examples",
        r"No module named 'tensorflow\.examples",
        "TensorFlow 2 brings no tutorials any more",
        "tensorflow.examples.tutorials, with its MNIST, left with TensorFlow 2.",
        (
            Edit(
                "from tensorflow.examples.tutorials.mnist import input_data",
                "(x, y), (x_test, y_test) = tf.keras.datasets.mnist.load_data()",
            ),
        ),
        package="tensorflow",
        pins=("tensorflow==1.15.*", "protobuf<3.21"),
        python="3.7",
    ),
)
