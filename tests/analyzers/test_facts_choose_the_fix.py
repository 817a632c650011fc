"""What a log shows takes a fix away that does not fit, and brings the one that does."""

from __future__ import annotations

import io

import pytest

from doctor.model.findings import Finding
from doctor.model.scales import Severity
from doctor.pipeline.assess import assess
from doctor.pipeline.logs import observation_from_logs, read_log
from tests.analyzers.explained import catalog


def first(text: str) -> Finding:
    log = read_log("log", io.BytesIO(text.encode()), catalog())
    return assess(observation_from_logs((log,)), catalog(), command="diagnose").findings[0]


def shown(text: str) -> list[str]:
    """Return the titles of the fixes on the screen."""
    return [one.title for one in first(text).fixes[:2]]


_DENIED = "Unable to open /dev/kfd read-write: Permission denied\n"
_NO_RUNTIME = (
    "2021/02/03 10:00:00 Failed to initialize NVML: could not load NVML library.\n"
    "2021/02/03 10:00:00 If this is a GPU node, did you set the docker default runtime to `x`?\n"
)
_RCCL = (
    "    from tensorflow.python._pywrap_tensorflow import *\n"
    "ImportError: librccl.so.1: cannot open shared object file: No such file or directory\n"
)
_NO_NVCC = (
    "  setup.py:99: UserWarning: causal_conv1d was requested, but nvcc was not found.\n"
    "NameError: name 'bare_metal_version' is not defined\n"
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("$ systemctl status ollama\n" + _DENIED, "Add the account of Ollama's service"),
        (_DENIED, "Add the user to the groups"),
        ("$ podman run x\n" + _DENIED, "Start the container of Podman"),
        ("ada is not a member of the render group, the default DRM access group\n", "Add ada to"),
        (
            "Server: Docker Engine - Community\n" + _NO_RUNTIME,
            "Make NVIDIA's runtime the default of D",
        ),
        (
            "unix:///run/containerd/containerd.sock\n" + _NO_RUNTIME,
            "Make NVIDIA's runtime the default of c",
        ),
        ("$ apt install rccl\n2 not fully installed or removed.\n" + _RCCL, "Finish what apt left"),
        (_RCCL, "Install the libraries of the ROCm"),
        (
            (
                "x/torch/lib/liblantern.so - libcufft.so.11: cannot open shared object file: "
                "No such file or directory\nlibcufft-0a1b2c3d.so.11\n"
            ),
            "Give the file the name libcufft.so.11",
        ),
        ("/private/var/folders/x/T/pip-install-y/z\n" + _NO_NVCC, "Take the Mamba of transformers"),
        ("/home/ada/z\n" + _NO_NVCC, "Fetch the wheel for the torch"),
    ],
)
def test_the_first_fix_is_for_the_system_that_the_log_shows(text: str, wanted: str) -> None:
    assert shown(text)[0].startswith(wanted)


SHAPE = (
    "RuntimeError: Error(s) in loading state_dict for {model}:\n\tsize mismatch for {name}: "
    "copying a param with shape torch.Size([{there}]) from checkpoint, the shape in current model "
    "is torch.Size([{here}]).\n"
)


@pytest.mark.parametrize(
    ("name", "there", "here", "lead", "wanted"),
    [
        ("classifier.weight", "3, 768", "2, 768", "x.from_pretrained(", "num_labels=3"),
        ("score.weight", "5, 4096", "1, 4096", "x.from_pretrained(", "num_labels=5"),
        ("fc.bias", "10", "1000", "", "num_classes=10"),
        ("head.weight", "7, 192", "1000, 192", "", "num_classes=7"),
        ("lm_head.weight", "32001, 4096", "32000, 4096", "", "resize_token_embeddings(32001)"),
    ],
)
def test_the_last_layer_says_how_many_classes(
    name: str, there: str, here: str, lead: str, wanted: str
) -> None:
    found = first(lead + "\n" + SHAPE.format(model="Net", name=name, there=there, here=here))
    assert found.id == "failure/checkpoint-shape"
    snippet = found.fixes[0].snippet
    assert snippet is not None
    assert wanted in snippet.after
    assert "ignore_mismatched_sizes" not in snippet.after


def test_other_layers_ask_for_no_number_of_classes() -> None:
    found = first(SHAPE.format(model="Net", name="classifier.weight", there="3, 768", here="2, 9"))
    assert found.fixes[0].snippet is not None
    assert "num" not in found.fixes[0].snippet.after


OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total "
    "capacity of 94.97 GiB of which 9.50 MiB is free. Including non-PyTorch memory, this process "
    "has 94.95 GiB memory in use. Of the allocated memory 94.13 GiB is allocated by PyTorch, and "
    "{reserved} is reserved by PyTorch but unallocated. If reserved but unallocated memory is "
    "large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n"
)
_TRACE = 'Traceback (most recent call last):\n  File "{file}", line 9, in f\n    x\n'


def _titles(text: str) -> str:
    return "\n".join(one.title for one in first(text).fixes)


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ("100%| 19800/50000 [2:50:05<18:30:27,  2.21s/it]\n", "grows from step to step"),
        (_TRACE.format(file="/x/torch/nn/parallel/data_parallel.py"), "one process for each GPU"),
        (
            _TRACE.format(file="C:\\ComfyUI\\comfy\\sd.py").replace("x\n", "vae.decode(y)\n"),
            "tiles",
        ),
        (_TRACE.format(file="/x/site-packages/diffusers/pipelines/a.py"), "part that computes"),
        (_TRACE.format(file="/x/site-packages/transformers/trainer.py"), "one example at a time"),
        ("INFO [gpu_model_runner.py] vllm/x Model loading took 90.1 GiB memory\n", "quantized"),
        ("diff_gaussian_rasterization\n", "outside the GPU"),
        ("", "less memory at once"),
    ],
)
def test_less_memory_is_said_in_the_words_of_the_program(before: str, wanted: str) -> None:
    text = before + OOM.format(reserved="114.00 MiB")
    assert wanted in first(text).fixes[0].title
    assert "segments" not in _titles(text)
    assert "processes" not in _titles(text)


def test_segments_help_where_much_is_reserved() -> None:
    assert "segments" in first(OOM.format(reserved="9.00 GiB")).fixes[0].title


PKG = (
    'File "{where}/setuptools/build_meta.py", line 317, in run_setup\n'
    "ModuleNotFoundError: No module named 'pkg_resources'\n"
)


def test_an_isolated_build_is_not_mended_from_outside() -> None:
    isolated = PKG.format(where="/tmp/pip-build-env-wtt0p3il/overlay/lib")
    assert shown(isolated)[0] == "Limit setuptools for pip's isolated builds"
    assert "uv" not in "".join(shown(isolated))
    assert shown(PKG.format(where="/venv/lib"))[0].startswith("Go back to the last setuptools")


def test_triton_on_cuda_11_wants_the_older_assembler() -> None:
    error = "RuntimeError: Triton Error [CUDA]: device kernel image is invalid\n"
    assert shown(error + "/root/envs/vllm-cu118/lib\n")[0].endswith("ptxas of CUDA 11.8")
    assert "ptxas of CUDA 11.8" not in "".join(shown(error + "torch 2.8.0+cu128\n"))


LINK = (
    "x.cpp:(.text+0x120): undefined reference to `void mul_case<(ggml_type)152>(ctx const&)'\n"
    "collect2: error: ld returned 1 exit status\n"
)


def test_a_clean_build_is_not_asked_for_twice() -> None:
    assert shown(LINK) == ["Build again in an empty folder"]
    git = "Did a git pull before attempting to build\n"
    assert shown(git + LINK)[0].startswith("Take the newest state")
    clean = git + "cmake --build build --clean-first\n"
    assert "Build again in an empty folder" not in _titles(clean + LINK)


MSVC = "C:\\src\\a.cpp(47,61): error C2676: binary '^': '__m256i' does not define\n"


def test_a_commit_that_did_build_is_named() -> None:
    text = "The last commit `2ec2229abc` built.\nIt was commit `2ec2229` and that was successful.\n"
    assert shown(text + MSVC)[1] == "Go back to 2ec2229abc, which did build"


def test_the_macro_that_breaks_a_header_is_named() -> None:
    found = first(
        "Building wheel for pybullet (pyproject.toml): started\n"
        "/Library/Developer/SDKs/MacOSX26.sdk/usr/include/_stdio.h:322:7: error: expected ')'\n"
        "  322 | FILE *fdopen(int, const char *)\n"
        "examples/zlib/zutil.h:128:26: note: expanded from macro 'fdopen'\n"
    )
    assert "macro fdopen in zlib/zutil.h:128" in found.title
    assert "pybullet" in found.fixes[0].title
    assert found.severity is Severity.ERROR


RUSTC = (
    "     Locking 36 packages to latest Rust 1.95.0 compatible versions\n"
    "      Adding ort v2.0.0-rc.9 (available: v2.0.0-rc.15)\n"
    "error: a TLS feature must be configured.\n"
    " --> /root/.cargo/registry/src/index.crates.io-19/ort-sys-2.0.0-rc.15/build/mod.rs:2:1\n"
    "error[E0432]: unresolved import `ureq::tls`\n"
    " --> /root/.cargo/registry/src/index.crates.io-19/ort-sys-2.0.0-rc.15/build/mod.rs:9:1\n"
)


def test_the_first_error_of_rustc_may_have_no_code() -> None:
    found = first(RUSTC)
    assert "a TLS feature must be configured" in found.title
    assert next(one.title for one in found.fixes).startswith("Take ort-sys 2.0.0-rc.9")
    assert not any(one.title.startswith("Take a newer") for one in found.fixes)


def test_a_kernel_of_triton_is_no_source_of_c() -> None:
    text = (
        "/tmp/torchinductor_root/pl/cplz.py:16:0: error: Failures have been detected while "
        "processing an MLIR pass pipeline\nRuntimeError: PassManager::run failed\n"
    )
    assert first(text).id == "triton/compiler-failed"
    flex = "INFO [cuda.py:319] Using FlexAttention backend on V1 engine.\n"
    assert "FlexAttention" in shown(flex + text)[0]


DKMS = (
    "DKMS make.log for nvidia-{driver} for kernel {kernel} (x86_64)\n"
    "/var/lib/dkms/nvidia/{driver}/build/nv-linux.h:1981:64: error: passing argument 4\n"
    "make[1]: *** [Makefile:1683: build] Error 2\nnvidia.ko failed to build!\n"
)


@pytest.mark.parametrize(
    ("driver", "kernel", "wanted"),
    [
        ("340.108", "5.6.13-300.fc32.x86_64", "akmod"),
        ("390.157", "6.4.1-zen1-1-zen", "older kernel"),
        ("470.256.02", "6.10.3-200.fc40.x86_64", "akmod"),
    ],
)
def test_a_legacy_driver_does_not_ask_for_a_newer_one(
    driver: str, kernel: str, wanted: str
) -> None:
    found = first(DKMS.format(driver=driver, kernel=kernel))
    assert found.id == "failure/kernel-module-build"
    assert driver in found.title
    commands = " ".join(str(step.command) for step in found.fixes[0].steps)
    assert wanted in f"{found.fixes[0].title} {commands}"


def test_a_driver_of_today_is_not_offered_once_more() -> None:
    found = first(DKMS.format(driver="580.95.05", kernel="7.1.3-4-liquorix-amd64"))
    assert found.id == "failure/kernel-module-build"
    assert found.severity is Severity.ERROR
    assert "kernel before" in found.fixes[0].title
    assert "no kernel of the distribution" in found.message
    older = first(DKMS.format(driver="535.183.01", kernel="6.17.0-5-generic"))
    assert any("nvidia-driver-580" in str(one.steps) for one in older.fixes)


def test_a_real_time_kernel_is_named() -> None:
    text = (
        "   executing: 'make SYSSRC=\"/lib/modules/5.9.1-rt20/build\"'\n"
        "FATAL: modpost: GPL-incompatible module nvidia-drm.ko uses GPL-only symbol "
        "'ww_mutex_lock'\n"
        'ERROR: An error occurred while performing the step: "Building kernel modules".\n'
    )
    assert "real-time kernel (5.9.1-rt20)" in first(text).title


URLERROR = "urllib.error.URLError: <urlopen error [Errno {errno}] {what}>\n"


@pytest.mark.parametrize(
    ("errno", "what", "lead", "wanted"),
    [
        ("101", "Network is unreachable", "srun: job 7 queued\n", "login node"),
        ("-3", "Temporary failure in name resolution", "", "machine with a network"),
        ("-2", "Name or service not known", "/lustre09/project\n", "login node"),
        ("113", "No route to host", "", "machine with a network"),
        ("111", "Connection refused", "", "reaches any server"),
    ],
)
def test_a_program_without_a_network(errno: str, what: str, lead: str, wanted: str) -> None:
    found = first(
        lead
        + 'Traceback (most recent call last):\n  File "/home/ada/main.py", line 20, in main\n'
        + "    model, preprocess = clip.load(args.backbone)\n"
        + '  File "/usr/lib/python3.10/urllib/request.py", line 216, in urlopen\n'
        + "    return opener.open(url, data, timeout)\n"
        + URLERROR.format(errno=errno, what=what)
    )
    assert found.id == "failure/no-network"
    assert wanted in found.fixes[0].title
    if errno != "111":
        assert found.fixes[0].snippet is not None
        assert "clip.load(args.backbone)" in found.fixes[0].snippet.after


def test_a_server_of_this_machine_needs_no_network() -> None:
    """Nothing listens: the log of the server says why, and no proxy helps."""
    found = first(
        "requests.exceptions.ConnectionError: HTTPConnectionPool(host='127.0.0.1', port=30): Max "
        "retries exceeded with url: /generate (Caused by NewConnectionError('<urllib3.connection."
        "HTTPConnection object at 0x7f>: Failed to establish a new connection: [Errno 111] "
        "Connection refused'))"
    )
    assert found.title.startswith("No server listens at 127.0.0.1")
    assert "server's own log" in found.fixes[0].title
    assert not any("proxy" in one.title for one in found.fixes)


APEX = """\
$ pip install {name}
Collecting {name}
  Preparing metadata (pyproject.toml): finished with status 'error'
      cc1: fatal error: /tmp/enscons/xxmodule.c: No such file or directory
error: metadata-generation-failed
$ python -c 'from {name} import x'
ModuleNotFoundError: No module named '{name}'
"""


@pytest.mark.parametrize("name", ["apex", "clip", "fitz"])
def test_a_namesake_on_the_index_is_told(name: str) -> None:
    assert first(APEX.format(name=name)).id == "failure/namesake"


def test_another_package_has_no_namesake() -> None:
    found = first(APEX.format(name="cryptacular"))
    assert found.id != "failure/namesake"
    assert "build of" not in first(APEX.format(name="numpyro").split("error: meta")[1]).title


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        (r"C:\\Python312\\Scripts\\websockets.exe", "failure/no-permission"),
        (r"C:\\Program Files\\Python311\\Lib\\a.pyd", "failure/no-permission"),
        (r"C:\\Users\\ada\\venv\\Lib\\site-packages\\a.pyd", "failure/file-locked"),
    ],
)
def test_a_python_of_the_machine_is_not_a_locked_file(path: str, wanted: str) -> None:
    text = f"ERROR: OSError: [WinError 5] Access is denied: '{path}'"
    assert first(text).id == wanted


def test_torchs_own_library_for_rocm_means_another_torch() -> None:
    for name in ("libtorch_hip.so", "libc10_hip.so"):
        text = f"ImportError: {name}: cannot open shared object file: No such file or directory"
        assert first(text).id == "rocm/torch-is-no-rocm-build"


MESON = """\
Using pip 25.3 from C:\\a\\.venv\\Lib\\site-packages\\pip (python 3.13)
Collecting numpy==1.26.4
  Collecting ninja>=1.8.2
  Source dir: C:\\T\\pip-install-tnc21zbb\\numpy_dd5f2fbae5d240c288eecf24483f25ad
  ..\\meson.build:1:0: ERROR: Compiler cl cannot compile programs.
"""


def test_the_package_that_is_built_is_no_part_of_its_environment() -> None:
    assert "numpy" in first(MESON).title
    assert "3.13" in first(MESON).title


PANDAS = """\
  Link requires a different Python (3.13.9 not in: '<3.11'): https://a/pandas-1.1.2.zip (from b)
Collecting pandas=={release}
  Using cached pandas-{release}.tar.gz (5.2 MB)
Building wheel for pandas (pyproject.toml): started
pandas/_libs/window/aggregations.cpp:10:5: error: expected ';' before x
/opt/python3.13/site-packages/a.h:5:1: note: here
ERROR: Failed building wheel for pandas
"""


@pytest.mark.parametrize(("release", "python"), [("1.5.3", "3.11"), ("2.2.0", "3.12")])
def test_an_older_python_is_one_that_the_release_has_wheels_for(release: str, python: str) -> None:
    newer, older = shown(PANDAS.format(release=release))[:2]
    assert newer == "Take pandas>=2.2.3, which has wheels for Python 3.13"
    assert older.startswith(f"Make an environment with Python {python}")


def test_a_variable_that_a_crate_reads_is_set() -> None:
    found = first(
        "error: environment variable `CUDA_COMPUTE_CAP` not defined at compile time\n"
        " --> /root/.cargo/registry/src/index.crates.io-1/candle-kernels-0.9.1/src/lib.rs:3:14\n"
    )
    assert [one.title for one in found.fixes] == [
        "Set CUDA_COMPUTE_CAP, which the crate reads while it is compiled"
    ]


@pytest.mark.parametrize("kernel", ["6.12.0-rt5", "6.1.0-28-rt-amd64", "5.15.0-1046-realtime"])
def test_a_real_time_kernel_is_known_by_its_name(kernel: str) -> None:
    text = (
        f"Error! Bad return status for module build on kernel: {kernel} (x86_64)\n"
        "Consult /var/lib/dkms/nvidia/550.54.14/build/make.log for more information.\n"
    )
    assert f"real-time kernel ({kernel})" in first(text).title
    other = text.replace("dkms/nvidia", "dkms/bbswitch")
    assert "real-time" not in "".join(titles_of(other))


def titles_of(text: str) -> list[str]:
    log = read_log("log", io.BytesIO(text.encode()), catalog())
    found = assess(observation_from_logs((log,)), catalog(), command="diagnose").findings
    return [one.title for one in found]


CURAND = "OSError: libcurand.so.10: cannot open shared object file: No such file or directory\n"
BARE = "if bare_metal_version >= 1:\nNameError: name 'bare_metal_version' is not defined\n"
PKGUTIL = "AttributeError: module 'pkgutil' has no attribute 'ImpImporter'\n"
COMFY = (
    r'File "D:\x\ComfyUI\custom_nodes\mtb\endpoint.py", line 9, in <module>'
    "\n    import requirements\nModuleNotFoundError: No module named 'requirements'\n"
)


@pytest.mark.parametrize(
    ("text", "at", "word"),
    [
        ("My Jetson Xavier: when I check from the container\n" + CURAND, 0, "NVIDIA's runtime"),
        ("docker run --runtime nvidia l4t-pytorch:r32.4.2-pth1.5\n" + CURAND, 0, "L4T release"),
        ("My Jetson Nano, JetPack 4.3\n" + CURAND, 1, "which JetPack"),
        ('File "C:/Temp/pip-build-env-9v/overlay/Lib/x.py"\n' + PKGUTIL, 0, "Python 3.11"),
        (
            (
                "libsycl.so.6: cannot open shared object file: No such file or directory\nFile "
                '"/e/site-packages/intel_extension_for_tensorflow/__init__.py", line 17\n'
            ),
            0,
            "Intel's extension was built with",
        ),
        (
            (
                "Ubuntu 22.04 (WSL2)\nWSL environment detected.\n"
                "RuntimeError: No HIP GPUs are available\n"
            ),
            0,
            "runtime of WSL",
        ),
    ],
)
def test_where_the_program_runs_chooses_the_fix(text: str, at: int, word: str) -> None:
    assert word in shown(text)[at]


def test_an_add_on_brings_its_list_of_requirements() -> None:
    text = "--windows-standalone-build\n" + COMFY
    (command,) = first(text).fixes[0].commands
    assert command.argv[0].endswith("python_embeded\\python.exe")
    assert command.argv[-1] == r"D:\x\ComfyUI\custom_nodes\mtb\requirements.txt"


def test_the_torch_of_a_build_environment_is_not_installed() -> None:
    text = "torch.__version__  = 2.7.0+cu126\n" + BARE
    held = "torch==2.7.0"
    assert any(held in part for one in first(text).fixes[0].commands for part in one.argv)
    text = "/tmp/pip-build-env-j/overlay/lib/python3.10/site-packages/torch/x.py:276\n" + text
    assert not any(held in part for one in first(text).fixes[0].commands for part in one.argv)


def test_no_release_of_conda_forge_is_asked_of_pip() -> None:
    text = "torch.__version__  = 2.3.1.post100\n" + BARE
    assert not any("torch==" in part for one in first(text).fixes[0].commands for part in one.argv)


def test_native_code_for_one_kind_of_mac() -> None:
    text = (
        "clang: error: unsupported argument 'native' to option '-march='\n"
        "  ERROR: Failed building wheel for chroma-hnswlib\n"
    )
    (command,) = first(text).fixes[0].commands
    assert command.env["HNSWLIB_NO_NATIVE"] == "1"


@pytest.mark.parametrize(
    ("text", "first_of_all", "never"),
    [
        pytest.param(
            "nvcc error: cicc\n/home/u/.cargo/registry/src/x/bindgen_cuda-0.1.6/src/lib.rs:9:1\n"
            "nvcc kernels/flash_fwd_hdim64_bf16_sm80.cu\nKilled\n",
            "one job",
            "fewer jobs",
            id="cargo",
        ),
        pytest.param(
            "Error response from daemon: unknown or invalid runtime name: nvidia\n"
            "C:\\work> docker compose up\n",
            "as devices in place of the runtime",
            "register it and restart",
            id="Docker Desktop",
        ),
        pytest.param(
            "$ singularity exec image.sif python train.py\nImportError: libcuda.so.1: cannot open "
            "shared object file: No such file or directory\n",
            "Apptainer or Singularity",
            "",
            id="Singularity",
        ),
        pytest.param(
            "E external/org_tensorflow/tensorflow/compiler/xla/stream_executor/cuda/cuda_dnn.cc:4] "
            "Loaded runtime CuDNN library: 8.2.4 but source was compiled with: 8.6.0.\n",
            "let the loader find it first",
            "",
            id="jaxlib of 2023",
        ),
        pytest.param(
            "from tensorflow.python._pywrap_tensorflow_internal import *\nImportError: "
            "libamdhip64.so.4: cannot open shared object file: No such file or directory\n",
            "release of tensorflow-rocm",
            "ROCm of this torch",
            id="TensorFlow for another ROCm",
        ),
        pytest.param(
            "ERROR: torch-1.8.0-cp36-cp36m-linux_aarch64.whl is not a supported wheel on this "
            "platform.\n",
            "JetPack of this board",
            "",
            id="a wheel of NVIDIA's for a Jetson",
        ),
        pytest.param(
            "cc1plus: fatal error: src/kernels_cuda.cu: No such file or directory\n",
            "newest release",
            "",
            id="an archive without a source",
        ),
        pytest.param(
            "cc1plus: fatal error: third_party/gemm/all.cu: No such file or directory\n",
            "submodules",
            "",
            id="a checkout without a submodule",
        ),
        pytest.param(
            "| NVIDIA-SMI 570.133.10   Driver Version: 570.133.10   CUDA Version: N/A  |\n"
            "modprobe: FATAL: Module nvidia-uvm not found in directory /lib/modules/5.15.0-9\n",
            "runs virtual machines",
            "Load the module",
            id="a hypervisor's driver",
        ),
    ],
)
def test_the_log_brings_the_fix_of_its_machine(text: str, first_of_all: str, never: str) -> None:
    titles = [one.title for one in first(text).fixes]
    assert first_of_all in titles[0]
    assert not never or not any(never in one for one in titles)
