"""Failures of data, programs and places that no known issue describes; the texts are genuine."""

from __future__ import annotations

import pytest

from tests.analyzers.explained import explained, said

LINES = (
    (
        (
            "(importFallbackPluginImporter): UNSUPPORTED_NODE: Assertion failed: creator && "
            '"Plugin not found, are the plugin name, version, and namespace correct?"'
        ),
        "does not know an operator",
    ),
    (
        "Error Code 10: Internal Error (Could not find any implementation for node TopK_531.)",
        "the node TopK_531",
    ),
    (
        "InvalidArgumentError: Matrix size-incompatible: In[0]: [32,100], In[1]: [64,10]",
        "Shapes do not fit: 32,100 and 64,10",
    ),
    (
        "Received a label value of 10 which is outside the valid range of [0, 10).",
        "Label 10 is beyond the 10 classes",
    ),
    ("indices[3,12] = 20001 is not in [0, 20000) [Op:ResourceGather]", "beyond the 20000 rows"),
    ("InternalError: Dst tensor is not initialized.", "memory is full"),
    (
        "tf2xla conversion failed while converting __inference_one_step_on_data_19335[].",
        "XLA cannot compile",
    ),
    ("InvalidArgumentError: device CUDA:2 not supported by XLA service", "does not take GPU 2"),
    ("ValueError: Unknown layer: TransformerBlock. Please ensure", "names TransformerBlock"),
    ("ValueError: The filepath provided must end in `.keras` (Keras model format).", ".keras"),
    (
        "RuntimeError: Dataset scripts are no longer supported, but found superb.py",
        "superb.py is one",
    ),
    ("Invalid pattern: '**' can only be an entire path component", "installed fsspec"),
    ("ValueError: Feature type 'List' not found. Available feature types:", "feature type List"),
    (
        (
            "stack expects each tensor to be equal size, but got [3, 224, 224] at entry 0 "
            "and [1, 224, 224] at entry 1"
        ),
        "3, 224, 224 and 1, 224, 224",
    ),
    (
        (
            "load_audio_file() Expected a value of type 'str' for argument '_0' but "
            "instead found type 'PosixPath'."
        ),
        "wants str and gets a PosixPath",
    ),
    (
        (
            "cv2.error: OpenCV(4.6.0) /io/opencv/modules/imgproc/src/resize.cpp:4052: error: "
            "(-215:Assertion failed) !ssize.empty() in function 'resize'"
        ),
        "was not read before resize()",
    ),
    (
        "OpenCV Error: Assertion failed (channels() == CV_MAT_CN(dtype)) in copyTo, file /b/c.cpp",
        "copyTo() refuses",
    ),
    ("UnicodeDecodeError: 'gbk' codec can't decode byte 0x80 in position 12", "in gbk"),
    ("_tkinter.TclError: no display name and no $DISPLAY environment variable", "no screen"),
    ("train.py: error: unrecognized arguments: --max-lr 1.0", "does not know --max-lr"),
    (
        "train.py: error: the following arguments are required: --data",
        "was started without --data",
    ),
    ("Key 'optimizer' is not in struct", "no key optimizer"),
    (
        "AssertionError: WARNING: No labels found in ../train/labels/. See the wiki.",
        "../train/labels/",
    ),
    ("Label class 3 exceeds dataset class count 1. Possible class labels are 0-0", "class 3"),
    ("ModuleNotFoundError: No module named 'omni.isaac.gym'", "no module omni.isaac.gym"),
    (
        "RuntimeError: Backend \"sox_io\" is not one of available backends: ['soundfile'].",
        "no backend sox_io",
    ),
    (
        (
            "Expected one of cpu, cuda, mkldnn, hip, msnpu, xla device type at start of "
            "device string: mps"
        ),
        "torch 1.12 brought it",
    ),
    (
        (
            "Expected one of cpu, cuda, xpu, mps, privateuseone device type at start of "
            "device string: gpu"
        ),
        "no device of the name gpu",
    ),
    ("AttributeError: module 'mmcv' has no attribute '__version__'", "Only a folder named mmcv"),
    (
        "AttributeError: module 'detectron2._C' has no attribute 'InstanceAnnotation'",
        "built from another state of detectron2",
    ),
    (
        "custom call 'xla.gpu.gemm' failed: sm_3 does not support explicit gemm algorithms..",
        "compute capability 3.x",
    ),
    (
        "/usr/bin/ld: /usr/lib/x86_64-linux-gnu/libcuda.so: file not recognized: file truncated",
        "cannot use libcuda.so",
    ),
    (
        "TypeError: MptForCausalLM.forward() got an unexpected keyword argument 'token_type_ids'",
        "MptForCausalLM does not take token_type_ids",
    ),
    ("OSError: Can't load tokenizer for 'bert-base-uncased'. If you were", "Hugging Face hub"),
    ("OSError: Can't load tokenizer for './saved_model'. If you were", "./saved_model holds no"),
)


@pytest.mark.parametrize(("text", "part"), LINES)
def test_a_message_is_explained_with_what_it_names(text: str, part: str) -> None:
    assert any(part in title for _, title in said(text)), said(text)


def test_an_environment_of_the_stores_python_is_told_apart_from_a_half_made_one() -> None:
    made = 'Unable to create venv in directory "D:\\ai\\venv"\n\nexit code: 3\n'
    store = "using python C:\\Users\\u\\AppData\\Local\\Microsoft\\WindowsApps\\python.exe\n"
    assert "Microsoft Store" in said(store + made)[0][1]
    assert "Microsoft Store" not in said(made)[0][1]


NO_DRIVER = "RuntimeError: Found no NVIDIA driver on your system. Please check that you have one"


def test_a_build_of_an_image_gets_no_advice_for_running_containers() -> None:
    found = explained(f"Step 9/15 : RUN python x.py\n ---> Running in 8f2c1b0a9d7e\n{NO_DRIVER}")
    assert found[0].detection.id == "failure/no-gpu-while-building"
    assert "torch/no-nvidia-driver" in found[0].contradicts
    assert "no-gpu-while-building" not in dict(said(NO_DRIVER))


def test_an_extension_that_asks_for_a_gpu_is_given_architectures() -> None:
    frame = '  File "/opt/conda/torch/utils/cpp_extension.py", line 1325, in _get_cuda_arch_flags\n'
    recipes = explained(frame + NO_DRIVER)[0].detection.recipes
    assert "TORCH_CUDA_ARCH_LIST" in recipes[0].steps[0].env


CLONE = """Traceback (most recent call last):
  File "/home/u/trainers/train.py", line 43, in main
    args = args.parse_args()
  File "{}/args.py", line 547, in parse_args
    map_fn(args, mapped_args)
TypeError: Config.map_args() takes 2 positional arguments but 3 were given"""


def test_only_files_of_the_program_itself_are_said_to_differ() -> None:
    assert "own-files-differ" in dict(said(CLONE.format("/home/u/trainers/core")))
    library = "/home/u/venv/lib/python3.11/site-packages/trainers"
    assert "own-files-differ" not in dict(said(CLONE.format(library)))


def test_a_message_that_says_what_it_wants_is_quoted_where_nothing_else_is_known() -> None:
    text = (
        '    raise ValueError(f"{name} does not require it. Set None or 0.")\n'
        "ValueError: adafactor does not require `num_warmup_steps`. Set None or 0."
    )
    (one,) = explained(text)
    assert one.detection.id == "failure/message-says"
    assert one.event.line == 2


@pytest.mark.parametrize(
    "text",
    [
        "ValueError: bad. Please run sudo rm -rf / first",
        "ValueError: bad. Please set verify=False in the call",
        "RuntimeError: unknown. Please open an issue at the tracker",
        "ValueError: too many values to unpack (expected 2)",
    ],
)
def test_what_asks_for_rights_or_reports_is_not_repeated(text: str) -> None:
    assert "message-says" not in dict(said(text))


@pytest.mark.parametrize(
    "text",
    [
        "INFO: 0 label classes exceed nothing; set the device string to cuda:0 if you like",
        "wandb: Run data is saved locally in /x/wandb/run-1",
        "Loaded state_dict, epoch 3 of 10, all labels found in /data/labels",
    ],
)
def test_work_that_goes_well_is_left_alone(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize("filler", ["(-215", "(" * 3000, "a" * 20000, "'" * 5000])
def test_hostile_lines_cost_little(filler: str) -> None:
    for start in (
        "cv2.error: OpenCV(4) ",
        "Unable to create venv in ",
        "train.py: error: argument ",
    ):
        explained(start + filler)
