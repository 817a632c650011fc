"""The owner is the event that the others report about, wherever it stands among them."""

from __future__ import annotations

import pytest

from doctor.events.owner import failure_lines, owning_event
from doctor.events.reading import events_of
from doctor.model.events import Level
from doctor.model.observation import Log

NINJA = """\
[1/2] g++ -MMD -MF main.o.d -std=c++17 -c main.cpp -o main.o
FAILED: main.o
main.cpp:2:26: error: ‘AT_CHECK’ was not declared in this scope; did you mean ‘CHECK’?
ninja: build stopped: subcommand failed.
Traceback (most recent call last):
  File "/venv/lib/python3.12/site-packages/torch/utils/cpp_extension.py", line 2595, in _run_ninja_build
    subprocess.run(
subprocess.CalledProcessError: Command '['ninja', '-v']' returned non-zero exit status 1.

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/w/build.py", line 3, in <module>
    load(name="mac", sources=["main.cpp"])
RuntimeError: Error building extension 'mac'"""  # noqa: E501
UNITS = """\
FAILED: a.o
a.cu(12): error: identifier "uint" is undefined
1 error detected in the compilation of "a.cu".
FAILED: b.o
b.cu(7): error: expected a ";"
ninja: build stopped: subcommand failed."""
PIP_ABOVE = """\
  error: subprocess-exited-with-error

  × Getting requirements to build wheel did not run successfully.
  │ exit code: 1
  ╰─> [20 lines of output]
      Traceback (most recent call last):
        File "<string>", line 14, in <module>
        File "/tmp/pip-build-env/overlay/lib/python3.10/site-packages/setuptools/build_meta.py", line 1
      ModuleNotFoundError: No module named 'torch'
      [end of output]

  note: This error originates from a subprocess, and is likely not a problem with pip.
ERROR: Failed to build 'flash_attn' when getting requirements to build wheel"""  # noqa: E501
RESOLVER = """\
ERROR: Cannot install a and b==1.0 because these package versions have conflicting dependencies.

The conflict is caused by:
    a 2.0 depends on numpy>=2
    b 1.0 depends on numpy<2
ERROR: ResolutionImpossible: for help visit https://pip.pypa.io/en/latest/topics/dependency-resolution/"""
DOCKER = """\
#9 12.31 E: Unable to locate package libcudnn9
#9 ERROR: process "/bin/sh -c apt-get install -y libcudnn9" did not complete successfully: exit code: 100
------
Dockerfile:4
ERROR: failed to solve: process "/bin/sh -c apt-get install -y libcudnn9" did not complete successfully: exit code: 100"""  # noqa: E501
CAUSE = """\
Traceback (most recent call last):
  File "/venv/lib/python3.11/site-packages/transformers/utils/import_utils.py", line 1967, in _get_module
    return importlib.import_module("." + module_name, self.__name__)
ImportError: /venv/lib/python3.11/site-packages/flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEi

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/w/run.py", line 1, in <module>
    from transformers import LlamaForCausalLM
RuntimeError: Failed to import transformers.models.llama.modeling_llama because of the following error (look up to see its traceback):
/venv/lib/python3.11/site-packages/flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEi"""  # noqa: E501
LOOKUP = """\
Traceback (most recent call last):
  File "/venv/lib/python3.11/site-packages/transformers/models/auto/configuration_auto.py", line 1131, in from_pretrained
    config_class = CONFIG_MAPPING[config_dict["model_type"]]
KeyError: 'qwen3'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/w/run.py", line 4, in <module>
    AutoModel.from_pretrained("Qwen/Qwen3-8B")
ValueError: The checkpoint you are trying to load has model type `qwen3` but Transformers does not recognize this architecture."""  # noqa: E501
NETWORK = """\
Traceback (most recent call last):
  File "/venv/lib/python3.11/site-packages/urllib3/connection.py", line 198, in _new_conn
    sock = connection.create_connection(
socket.gaierror: [Errno -3] Temporary failure in name resolution

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/venv/lib/python3.11/site-packages/requests/adapters.py", line 667, in send
    resp = conn.urlopen(
urllib3.exceptions.MaxRetryError: HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded"""  # noqa: E501
TENSORFLOW = """\
2021-03-01 10:00:00.123456: W tensorflow/stream_executor/platform/default/dso_loader.cc:60] Could not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared object file: No such file or directory
2021-03-01 10:00:00.123500: I tensorflow/stream_executor/cuda/cudart_stub.cc:29] Ignore above cudart dlerror if you do not have a GPU set up on your machine.
Traceback (most recent call last):
  File "train.py", line 9, in <module>
    model.fit(x, y)
ValueError: Shapes (None, 1) and (None, 10) are incompatible"""  # noqa: E501
HANDLED = """\
Traceback (most recent call last):
  File "/opt/app/plugins.py", line 31, in load
    import optional_thing
RuntimeError: optional_thing wants a display
Loading weights
Loading tokenizer
epoch 1, loss 2.31
epoch 2, loss 2.11
epoch 3, loss 1.98
epoch 4, loss 1.91
epoch 5, loss 1.89
Traceback (most recent call last):
  File "/opt/app/train.py", line 77, in <module>
    step(batch)
ZeroDivisionError: division by zero"""
RANKS = """\
[rank1]: Traceback (most recent call last):
[rank0]: Traceback (most recent call last):
[rank1]:   File "/w/train.py", line 12, in <module>
[rank0]:   File "/w/train.py", line 15, in <module>
[rank1]:     x = y[9]
[rank1]: IndexError: list index out of range
[rank0]:     dist.barrier()
[rank0]: torch.distributed.DistBackendError: the other side closed the connection
W1122 16:41:35.627244 1706 torch/distributed/elastic/multiprocessing/api.py:900] Sending process 12 closing signal SIGTERM
Traceback (most recent call last):
  File "/venv/bin/torchrun", line 8, in <module>
    sys.exit(main())
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
Root Cause (first observed failure):
  exitcode  : 1 (pid: 12)"""  # noqa: E501
ENGINE = """\
(EngineCore_0 pid=812) ERROR 11-22 10:00:00 [core.py:700] EngineCore failed to start.
(EngineCore_0 pid=812) ERROR 11-22 10:00:00 [core.py:700] Traceback (most recent call last):
(EngineCore_0 pid=812) ERROR 11-22 10:00:00 [core.py:700]   File "/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 691, in run_engine_core
(EngineCore_0 pid=812) ERROR 11-22 10:00:00 [core.py:700]     engine_core = EngineCoreProc(*args, **kwargs)
(EngineCore_0 pid=812) ERROR 11-22 10:00:00 [core.py:700] ValueError: No available memory for the cache blocks.
(APIServer pid=700) Traceback (most recent call last):
(APIServer pid=700)   File "/venv/bin/vllm", line 10, in <module>
(APIServer pid=700)     sys.exit(main())
(APIServer pid=700) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"""  # noqa: E501
CUT = """\
    return forward_call(*args, **kwargs)
  File "/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 114, in forward
    return F.linear(input, self.weight, self.bias)
RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x5 and 4x2)"""
CARGO = """\
error: failed to run custom build command for `cudarc v0.11.8`

Caused by:
  process didn't exit successfully: `/home/ada/target/release/build/cudarc-5981/build-script-build` (exit status: 101)
  --- stderr
  thread 'main' panicked at /home/ada/.cargo/registry/src/cudarc-0.11.8/build.rs:82:14:
  Unsupported cuda toolkit version: `12.6`. Please raise a github issue.
warning: build failed, waiting for other jobs to finish..."""  # noqa: E501
RUNNER = """\
time=2024-07-13T10:00:00.000+08:00 level=ERROR source=sched.go:388 msg="error loading llama server" error="llama runner process has terminated: exit status 0xc0000135 "
"""  # noqa: E501
SHARD = """\
2024-03-07T10:00:00.000000Z  INFO text_generation_launcher: Starting shard rank=0
2024-03-07T10:00:08.000000Z ERROR shard-manager: text_generation_launcher: Shard process was signaled to shutdown with signal 4 rank=0
2024-03-07T10:00:08.000000Z ERROR text_generation_launcher: Shard 0 failed to start
Error: ShardCannotStart"""  # noqa: E501
RICH = """\
╭─────────────────────────────── Traceback (most recent call last) ────────────────────────────────╮
│ /home/ada/w/run.py:9 in <module>                                                                 │
│                                                                                                  │
│    6 def run():                                                                                  │
│ ❱  9 run()                                                                                       │
╰──────────────────────────────────────────────────────────────────────────────────────────────────╯
OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root."""
NOTEBOOK = """\
---------------------------------------------------------------------------
ImportError                               Traceback (most recent call last)
Cell In[3], line 1
----> 1 import torchaudio

File /venv/lib/python3.10/site-packages/torchaudio/__init__.py:5
      4 import torch
----> 5 import _torch_sox

ImportError: /venv/lib/python3.10/site-packages/_torch_sox.so: undefined symbol: _ZN2at19UndefinedTensorImpl10_singletonE"""  # noqa: E501
CMAKE = """\
CMake Error at cmake/FindCUDNN.cmake:19 (find_library):
  Could not find cudnn_LIBRARY using the following names: cudnn, libcudnn.so.
-- Configuring incomplete, errors occurred!
Traceback (most recent call last):
  File "/home/ada/TransformerEngine/setup.py", line 336, in _build_cmake
    subprocess.run(command, cwd=build_dir, check=True)
subprocess.CalledProcessError: Command '['/usr/bin/cmake']' returned non-zero exit status 1."""


@pytest.mark.parametrize(
    ("text", "line", "speaker"),
    [
        pytest.param(NINJA, 3, "the C++ compiler", id="a compiler below ninja and two tracebacks"),
        pytest.param(UNITS, 2, "nvcc", id="the first error of the first failing unit"),
        pytest.param(PIP_ABOVE, 9, "Python", id="pip speaks above and below"),
        pytest.param(RESOLVER, 1, "pip", id="pip's resolver"),
        pytest.param(DOCKER, 1, "apt", id="docker build"),
        pytest.param(CAUSE, 4, "ld.so", id="direct cause"),
        pytest.param(LOOKUP, 11, "Python", id="a lookup that was handled"),
        pytest.param(NETWORK, 4, "Python", id="an exception that broke its handler"),
        pytest.param(TENSORFLOW, 6, "Python", id="a warning about something else"),
        pytest.param(HANDLED, 15, "Python", id="an exception that the program survived"),
        pytest.param(RANKS, 6, "Python", id="the first of several processes"),
        pytest.param(ENGINE, 5, "Python", id="the engine below the server"),
        pytest.param(CUT, 4, "Python", id="cut at the top"),
        pytest.param(CARGO, 6, "a Rust program", id="a build script below cargo"),
        pytest.param(RUNNER, 1, "Windows", id="a status beside a wrapper in one line"),
        pytest.param(SHARD, 2, "a program", id="a signal in words"),
        pytest.param(RICH, 7, "Python", id="the boxes of rich"),
        pytest.param(NOTEBOOK, 10, "ld.so", id="a notebook"),
        pytest.param(CMAKE, 1, "cmake", id="cmake below its caller"),
    ],
)
def test_the_owner_is_the_event_below_all_reports(text: str, line: int, speaker: str) -> None:
    owner = owning_event(events_of(Log(source="log", lines=tuple(text.split("\n")))))
    assert owner is not None
    assert (owner.line, owner.level) == (line, Level.FAILURE)
    if owner.general:
        assert owner.speaker == speaker


def test_a_wrapper_owns_only_where_it_stands_alone() -> None:
    text = (
        "ninja: build stopped: subcommand failed.\n"
        "error: command '/usr/bin/nvcc' failed with exit code 1"
    )
    owner = owning_event(events_of(Log(source="log", lines=tuple(text.split("\n")))))
    assert owner is not None
    assert owner.level is Level.WRAPPER


def test_a_quiet_log_has_no_owner() -> None:
    text = "epoch 1: loss 0.3\n0 errors, 0 warnings\nno error\nsaved"
    assert owning_event(events_of(Log(source="log", lines=tuple(text.split("\n"))))) is None


@pytest.mark.parametrize(
    ("text", "lines"),
    [(CAUSE, range(12)), (ENGINE, range(1, 5)), (SHARD, range(5))],
    ids=["chain", "process", "line"],
)
def test_the_lines_of_a_failure_are_those_of_its_traceback(text: str, lines: range) -> None:
    events = events_of(Log(source="log", lines=tuple(text.split("\n"))))
    owner = owning_event(events)
    assert owner is not None
    assert failure_lines(events, owner) == lines
