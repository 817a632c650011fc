"""A log shows where it was printed, and a thread about several machines shows what they share."""

from __future__ import annotations

import time

import pytest

from doctor.base.patterns import pattern_error
from doctor.events.context import Context
from doctor.events.signs import PLACES, Sign
from doctor.events.signs_of_work import WORK
from doctor.events.surroundings import context_of, surrounding_facts
from doctor.model.facts import State
from doctor.model.observation import Log
from doctor.model.vocabulary import is_known
from tests.each import each


def of(text: str) -> Context:
    """Return the context of a text."""
    return context_of(Log(source="log", lines=tuple(text.split("\n"))))


def facts_of(text: str) -> dict[str, object]:
    """Return the facts that the surroundings of a text show, None for those that are absent."""
    facts = surrounding_facts(Log(source="log", lines=tuple(text.split("\n"))))
    assert all(is_known(name) for name in facts)
    return {
        name: fact.value if fact.state is State.PRESENT else None for name, fact in facts.items()
    }


def test_a_sign_can_be_searched() -> None:
    each([(f"{sign.about}: {sign.pattern}", sign) for sign in (*PLACES, *WORK)], _can_be_searched)


def _can_be_searched(sign: Sign) -> None:
    assert not pattern_error(sign.pattern)
    assert bool(sign.value) != ("(?P<value>" in sign.pattern)
    assert sign.words
    assert all(word == word.lower() for word in sign.words)


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        (
            r'  File "D:\AI\venv\lib\site-packages\triton\runtime\build.py", line 52',
            "os",
            "windows",
        ),
        ("OSError: [WinError 126] Не найден указанный модуль", "os", "windows"),
        ("C:/Users/ada/x.c:14: error: include file 'Python.h' not found", "os", ""),
        ("OS: Microsoft Windows 11 Pro", "os", "windows"),
        ('  File "/usr/local/lib/python3.8/dist-packages/vllm/_C.abi3.so"', "os", "linux"),
        ('  File "/usr/local/lib/x.py"\n  File "/Users/ada/x.py"', "os", "macos"),
        ('  File "/home/ada/x.py"\n  File "C:\\Users\\ada\\x.py"', "os", ""),
        ("libcudart.so.12: cannot open shared object file: No such file", "os", "linux"),
        ("- Ubuntu 24.04.4 LTS", "distribution", "Ubuntu 24.04"),
        ("FROM nvidia/cuda:12.1.1-devel-ubuntu22.04", "distribution", "Ubuntu 22.04"),
        ("works on Ubuntu 20.04\nnot on Ubuntu 24.04", "distribution", ""),
        ("PRETTY_NAME=NixOS 24.05", "distribution", "NixOS"),
        (r"PS C:\Users\ada> pip install torch", "shell", "powershell"),
        (r"C:\Users\ada>pip install torch", "shell", "cmd"),
        ("zsh: command not found: nvcc", "shell", "zsh"),
        ("ada@host:~/w$ python train.py", "shell", "bash"),
        ("/usr/lib/aarch64-linux-gnu/libc.so.6", "machine", "aarch64"),
        (
            ("ERROR: torch-2.9.1-cp312-cp312-manylinux_2_28_aarch64.whl is not a supported wheel"),
            "machine",
            "",
        ),
        ("root@3f2a9c81b7de:/workspace# python x.py", "container", True),
        ("Singularity> python x.py", "container", True),
        ("docker: Error response from daemon: unknown", "container", False),
        ("Linux 5.15.153.1-microsoft-standard-WSL2", "wsl", True),
        ("Linux tegra-ubuntu 5.10.104-tegra #1 SMP", "jetson", True),
        ("Jetson Orin Nano, JetPack 6.0", "jetson", True),
        ("(base) ada@host:~$ python x.py", "conda", True),
        (r"  File 'C:\Users\ada\.conda\envs\llama\Lib\site-packages\x.py'", "conda", True),
        ("  File '/content/drive/x.py'", "notebook", True),
        ("<ipython-input-1-4cf0a64f61c0> in <module>()", "notebook", True),
        ("AMD Radeon RX 7900 XTX, gfx1100", "vendors", ("amd",)),
        ("torch 2.9.1+rocm6.4", "vendors", ("amd",)),
        ("Intel(R) Arc(TM) A770 Graphics", "vendors", ("intel",)),
        ("Apple M1 Max", "vendors", ("apple",)),
        ("RuntimeError: CUDA error: unknown error", "vendors", ()),
        ("2xRTX 5000 16GB", "vendors", ("nvidia",)),
        (
            "NVIDIA GeForce RTX 5090 with CUDA capability sm_120",
            "gpus",
            ("NVIDIA GeForce RTX 5090",),
        ),
        ("AMD Radeon RX 7900 XTX", "gpus", ("Radeon RX 7900 XTX",)),
        ("Apple M1 Max", "gpus", ("Apple M1 Max",)),
        (
            "$ pip install -U torch --index-url https://user:secret@host/simple",
            "indexes",
            ("https://host/simple",),
        ),
        (
            "Looking in indexes: https://pypi.org/simple, https://pypi.ngc.nvidia.com",
            "indexes",
            ("https://pypi.org/simple", "https://pypi.ngc.nvidia.com"),
        ),
        ("(venv) ada@host:~/w$ pip install flash-attn", "commands", ("pip install flash-attn",)),
        ("#9 [3/9] RUN pip install flash-attn", "commands", ("pip install flash-attn",)),
        ("!pip install -U torch", "commands", ("pip install -U torch",)),
        ("# RuntimeError: what", "commands", ()),
        ("Collecting torch", "tools", ("pip",)),
        ("/usr/bin/g++ -MMD -MF main.o.d -O2 -c main.cpp -o main.o", "built_from_source", True),
        ("x.cu(3): error: no", "built_from_source", True),
        ("Collecting torch", "built_from_source", False),
    ],
)
def test_a_log_shows(text: str, field: str, value: object) -> None:
    assert getattr(of(text), field) == value


def test_a_radeon_is_no_gpu_of_nvidia() -> None:
    found = facts_of("HIP error: invalid device function\nAMD Radeon RX 7900 XTX, gfx1100")
    assert found["amd.gpu_present"] is True
    assert found["nvidia.gpu_present"] is None


def test_a_distribution_names_what_installs_its_packages() -> None:
    assert facts_of("Ubuntu 22.04.3 LTS") == {
        "host.os": "linux",
        "host.distribution": "Ubuntu 22.04",
        "host.distribution_id": "ubuntu",
        "host.distribution_version": "22.04",
        "host.package_manager": "apt",
    }
    assert facts_of("Rocky Linux release 9")["host.package_manager"] == "dnf"


def test_a_windows_log_has_no_package_manager_of_linux() -> None:
    found = facts_of("C:\\x\\y.py\nI tried Ubuntu 22.04 as well")
    assert "host.package_manager" not in found


@pytest.mark.parametrize(
    "piece", ["/home/", "C:\\", "RTX ", "root@", "conda3/", "# ", "$ ", "gcc -c "]
)
def test_hostile_logs_take_linear_time(piece: str) -> None:
    log = Log(source="log", lines=(piece * 300_000, *([piece] * 100_000)))
    started = time.process_time()
    context_of(log)
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("text", "container"),
    [
        ("root@jetson-tx2-0:/# python3", "docker"),
        ("ada@host:~$ python3", "unset"),
        ('  File "C:\\Users\\ada\\x.py", line 3', None),
    ],
)
def test_where_a_container_is_shown_or_ruled_out(text: str, container: object) -> None:
    assert facts_of(text).get("host.container", "unset") == container


def test_the_folder_for_temporary_files_of_a_mac() -> None:
    text = "cwd: /private/var/folders/tb/T/pip-install-5/torch/\n/usr/local/bin/python3"
    assert of(text).os == "macos"


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("OS (e.g., Linux Ubuntu 16.04): MacBook Air, macOS 12.2", "os", "macos"),
        ("OS Platform and Distribution (e.g., Linux Ubuntu 16.04): Windows 10", "os", "windows"),
        ("OS (e.g., Linux): macOS", "distribution", ""),
        ("- macOS Sequoia 15.3", "os", "macos"),
        ("macOS 14 wheels are built as well", "os", ""),
        ("on a fresh Windows Subsystem for Linux with CUDA", "wsl", True),
        ("- [ ] Windows Subsystem for Linux", "wsl", False),
        ("build/temp.macosx-14.0-arm64-cpython-312", "machine", "arm64"),
    ],
)
def test_the_example_of_a_form_is_no_system(text: str, field: str, value: object) -> None:
    assert getattr(of(text), field) == value
