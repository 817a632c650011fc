"""Programs that people start and do not write: what they miss, and their own way to get it."""

from __future__ import annotations

import pytest

from doctor.logs.interpreters import interpreter_of
from doctor.model.issues import Recipe
from tests.analyzers.explained import explained

TRACE = 'Traceback (most recent call last):\n  File "{}", line 9, in f\n    g()\n{}'
TEXTGEN = r"C:\text-generation-webui\modules\models.py"
CONTROLNET = r"C:\stable-diffusion-webui\extensions\sd-webui-controlnet\scripts\cldm.py"
IN_PLACE = (
    "RuntimeError: one of the variables needed for gradient computation has been modified by an "
    "inplace operation: [torch.cuda.FloatTensor [8, 3]]{} is at version 2; expected version 1"
)
COVERED = (
    (
        TRACE.format(TEXTGEN, "ModuleNotFoundError: No module named 'llama_cpp_binaries'"),
        "environment of the text generation web UI lacks llama_cpp_binaries",
        "updater",
    ),
    (
        TRACE.format(CONTROLNET, "AttributeError: module 'modules.devices' has no attribute 'x'"),
        "made for another state of the web UI",
        "Bring the web UI up to date",
    ),
    (
        TRACE.format(CONTROLNET, "AttributeError: 'UNetModel' object has no attribute '_forward'"),
        "does not go together with this web UI",
        "Bring sd-webui-controlnet up to date",
    ),
    (
        TRACE.format(
            CONTROLNET, "AttributeError: 'ControlNet' object has no attribute 'label_emb'"
        ),
        "with a checkpoint of SDXL",
        "ControlNet for SDXL",
    ),
    (
        "KSampler\nmat1 and mat2 shapes cannot be multiplied (154x2048 and 768x320)",
        "encoded for SDXL, and the model that gets it is of Stable Diffusion 1.5",
        "added part of the family",
    ),
    (
        (
            "RuntimeError: Given groups=1, weight of size [64, 3, 7, 7], expected input[1, 4, 224]"
            " to have 3 channels, but got 4 channels instead"
        ),
        "The picture has 4 channels",
        "as RGB",
    ),
    (
        TRACE.format(
            "/a/torch/serialization.py",
            "AttributeError: Can't get attribute 'RepConv' on <module 'models.common' from '/a'>",
        ),
        "saved by other code: models.common has no class RepConv",
        "weights that were made for this very code",
    ),
    (
        TRACE.format("models/yolo.py", "AttributeError: 'Detect' object has no attribute 'm'"),
        "The program's Detect has no m",
        "Bring the clone up to date",
    ),
    (
        TRACE.format(
            "/content/SDEdit/colab_utils/utils.py",
            "TypeError: image_editing_denoising_step_flexible_mask() got an unexpected keyword "
            "argument 'return_pred_xstart'",
        ),
        "program's own files do not go together",
        "Bring the program up to date",
    ),
    (IN_PLACE.format(""), "optimizer's step() changed weights", "before the first step()"),
    (
        IN_PLACE.format(", which is output 0 of ReluBackward0,"),
        "result of relu() was overwritten",
        "activation make a new tensor",
    ),
    (
        IN_PLACE.format("").replace("[8, 3]", "[256]"),
        "a buffer under DistributedDataParallel, or a weight",
        "Keep DistributedDataParallel from copying its buffers",
    ),
    (
        "[rank0]: " + IN_PLACE.format("").replace("[8, 3]", "[768]"),
        "DistributedDataParallel most likely changed a buffer",
        "Keep DistributedDataParallel from copying its buffers",
    ),
    (
        TRACE.format("train.py", IN_PLACE.partition(": [")[0]).replace("g()", "loss_lm.backward()"),
        "loss_lm.backward() needs a value that was changed before it",
        "before the first step()",
    ),
    (
        TRACE.format("train.py", IN_PLACE.partition(": [")[0]).replace("g()", "loss.backward()"),
        "the message does not tell which",
        "Have torch name the operation",
    ),
    (
        (
            "RuntimeError: CUDA out of memory. Tried to allocate 128.00 MiB (GPU 0; 983.69 MiB "
            "total capacity; 209.53 MiB already allocated; 69.56 MiB free; 6.47 MiB cached)"
        ),
        "GPU 0 has no memory left",
        "GPU with more memory",
    ),
    (
        (
            "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 10.76 GiB total "
            "capacity; 209.53 MiB already allocated; 12.56 MiB free; 240.00 MiB reserved in total "
            "by PyTorch)"
        ),
        "GPU 0 has no memory left",
        "See which processes hold",
    ),
    (
        (
            "RuntimeError: CUDA out of memory. Tried to allocate 1.68 GiB (GPU 1; 31.75 GiB total "
            "capacity; 27.51 GiB already allocated; 1.65 GiB free; 28.90 GiB reserved in total by "
            "PyTorch)"
        ),
        "GPU 1 has no memory left",
        "Use less memory at once",
    ),
    (
        (
            "ERROR: Invalid requirement: '<<<<<<< Updated upstream': Expected package name\n"
            "    <<<<<<< Updated upstream\n    ^ (from line 2 of requirements.txt)"
        ),
        "unfinished merge in requirements.txt",
        "as the project has it",
    ),
    (
        "KeyError: \"MaskRCNN: 'RefineRoIHead is not in the models registry'\"",
        "RefineRoIHead is registered nowhere",
        "import the module",
    ),
    (
        "ValueError: Model path does not exist: NAME=C:/models/ggml-model-q4_0.bin",
        "holds its own name",
        "Leave the name out",
    ),
    (
        (
            "pydantic.error_wrappers.ValidationError: 1 validation error for Settings\n"
            "persist_directory\n  none is not an allowed value (type=type_error.none.not_allowed)"
        ),
        "The setting persist_directory has no value",
        "from the example",
    ),
    (
        "RuntimeError: Dataset 'data.yaml' error \u274c 'data.yaml' does not exist",
        "Ultralytics does not find data.yaml",
        "whole path",
    ),
    (
        (
            "No OpKernel was registered to support Op 'DepthToSpace' used by node D\n"
            "Registered devices: [CPU]"
        ),
        "TensorFlow sees no GPU",
        "whether TensorFlow has a GPU",
    ),
    (
        "error loading model: this format is no longer supported (see https://github.com/ggerganov)",
        "old format (GGML)",
        "as a GGUF file",
    ),
    (
        "running build_ext\nerror: [Errno 2] No such file or directory: 'which'",
        "The program which is not found",
        "package manager",
    ),
    (
        TRACE.format(
            r"C:\Python310\lib\site-packages\ffmpeg\_run.py",
            "FileNotFoundError: [WinError 2] The system cannot find the file specified",
        ),
        "The program ffmpeg is not found",
        "",
    ),
    (
        TRACE.format(
            r"F:\Lib\site-packages\llama_cpp\llama_cpp.py",
            "OSError: [WinError -1073741795] Windows Error 0xc000001d",
        ),
        "STATUS_ILLEGAL_INSTRUCTION",
        "without AVX2",
    ),
)


@pytest.mark.parametrize(("text", "title", "fix"), COVERED)
def test_first_fix_is_the_programs_own(text: str, title: str, fix: str) -> None:
    """The finding names the object, and its first fix is what the program itself offers."""
    found = [one.detection for one in explained(text) if title in one.detection.title]
    assert found, [one.detection.title for one in explained(text)]
    first: Recipe | None = next(iter(found[0].recipes), None)
    assert fix in (first.title if first else "")


@pytest.mark.parametrize(
    ("line", "python"),
    [
        (
            r"C:\a\installer_files\env\lib\site-packages\x.py",
            r"C:\a\installer_files\env\python.exe",
        ),
        (
            r"C:\a b\ComfyUI\.venv\Lib\site-packages\x.py",
            r"C:\a b\ComfyUI\.venv\Scripts\python.exe",
        ),
        (r"** Python executable: D:\c\python.exe", r"D:\c\python.exe"),
        (r'"D:\f\system\python\python.exe" "install.py"', r"D:\f\system\python\python.exe"),
    ],
)
def test_applications_name_their_python(line: str, python: str) -> None:
    """The Python of an application is known by its folder, or by what it prints."""
    assert interpreter_of((line,), line) == python


def test_families_need_two_known_widths() -> None:
    """A layer of the program's own is no matter of families."""
    text = TRACE.format("net.py", "mat1 and mat2 shapes cannot be multiplied (32x400 and 256x120)")
    titles = [one.detection.title for one in explained("RuntimeError: " + text)]
    assert any("rows of 256 numbers, and gets rows of 400" in one for one in titles)


def test_wheel_that_a_setup_script_looks_for_has_not_moved() -> None:
    """A 404 is a file that moved, but not where a setup.py looks for a ready wheel."""
    refused = "urllib.error.HTTPError: HTTP Error 404: Not Found"
    asked = "    urllib.request.urlretrieve(wheel_url, wheel_filename)\n"
    title = "The server refuses the download"
    titles = [one.detection.title for one in explained(f"Traceback:\n{asked}{refused}")]
    assert not any(title in one for one in titles)
    assert any(title in one.detection.title for one in explained(refused))
