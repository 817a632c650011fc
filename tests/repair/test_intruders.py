"""What comes into a program from outside of its environment."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
import pytest

from doctor.environments.environment import Environment, environment_at
from doctor.host import Host
from doctor.model.fixes import Step
from doctor.repair.commands import variables
from doctor.repair.failures import failure_of, is_another
from doctor.repair.intruders import without_intruders
from doctor.repair.settings import (
    leaving_out,
    spoken_of,
    suspected,
    without_proxies,
    without_settings,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="paths of POSIX")
_SYMBOL = failure_of("ImportError: /env/libtorch.so: undefined symbol: ncclFoo")
_PLAIN = failure_of("ValueError: no library is the matter\nTraceback (most recent call last):\n")


@pytest.fixture
def around(tmp_path: Path) -> Environment:
    real = environment_at(Path(sys.executable), Host())
    site = tmp_path / "env" / "site-packages"
    site.mkdir(parents=True)
    return msgspec.structs.replace(real, root=tmp_path / "env", folders=(site,))


def _set_by(found: list[tuple[str, tuple[Step, ...]]]) -> list[dict[str, str | None] | None]:
    return [variables(step) for _, steps in found for step in steps if step.command is not None]


def test_one_entry_of_a_library_path_goes_and_the_others_stay(
    tmp_path: Path, around: Environment
) -> None:
    old, lab = tmp_path / "old", tmp_path / "lab"
    old.mkdir()
    lab.mkdir()
    env = {
        "LD_LIBRARY_PATH": f"{old}:{around.root}/lib:{lab}:/not/there",
        "LD_PRELOAD": f"{old}/libnccl.so.2 {lab}/libmalloc.so",
    }
    ways = _set_by(list(without_intruders(_SYMBOL, env, around, frozenset())))
    assert ways == [
        {"LD_PRELOAD": f"{lab}/libmalloc.so"},
        {"LD_PRELOAD": f"{old}/libnccl.so.2"},
        {"LD_LIBRARY_PATH": f"{around.root}/lib:{lab}:/not/there"},
        {"LD_LIBRARY_PATH": f"{old}:{around.root}/lib:/not/there"},
    ]
    calm = failure_of('Traceback (most recent call last):\n  File "a.py", line 1\nValueError: x\n')
    assert not list(without_intruders(calm, env, around, frozenset()))


def test_a_folder_of_pythonpath_goes_only_where_it_hides_a_module(
    tmp_path: Path, around: Environment
) -> None:
    legacy, tools = tmp_path / "legacy", tmp_path / "tools"
    (legacy / "packaging").mkdir(parents=True)
    tools.mkdir()
    (tools / "toolbox.py").touch()
    env = {"PYTHONPATH": os.pathsep.join((str(legacy), str(tools))), "PYTHONHOME": "/usr"}
    ways = _set_by(list(without_intruders(_PLAIN, env, around, {"packaging"})))
    assert ways == [{"PYTHONHOME": ""}, {"PYTHONPATH": str(tools)}]


def test_a_folder_that_a_pth_file_puts_first_is_made_a_plain_path(
    tmp_path: Path, around: Environment
) -> None:
    lab = tmp_path / "lab"
    lab.mkdir()
    (lab / "attr.py").touch()
    pth = around.folders[0] / "zz.pth"
    pth.write_text(f"import sys; sys.path.insert(0, {str(lab)!r})\n")
    ((what, (step,)),) = without_intruders(_PLAIN, {}, around, {"attr"})
    assert what.startswith(str(lab))
    assert step.edit is not None
    assert (step.edit.file, step.edit.after) == (str(pth), str(lab))
    assert not list(without_intruders(_PLAIN, {}, around, {"other"}))


def test_one_variable_that_the_failing_packages_read_goes_at_a_time() -> None:
    """What the failure names comes first; folders, tokens and other packages' variables stay."""
    env = {
        "JAX_PLATFORMS": "cuda",
        "XLA_FLAGS": "--old",
        "HF_TOKEN": "x",
        "JAX_CACHE_DIR": "/c",
        "TF_X": "1",
        "OMP_NUM_THREADS": "1",
    }
    jax = '  File "/env/lib/python3.11/site-packages/jax/numpy.py", line 5, in linspace\n'
    text = f"Traceback (most recent call last):\n{jax}AssertionError\n" + "-" * 20
    hidden = f"{text}\nFor simplicity, JAX has removed its internal frames from the traceback.\n"
    failure = failure_of(hidden)
    assert failure.error == "AssertionError"
    assert [name for name, _ in without_settings(failure, env)] == ["JAX_PLATFORMS", "XLA_FLAGS"]
    abort = failure_of("F0000 parse_flags.cc:226] Unknown flag in XLA_FLAGS: --old, HF_TOKEN\n")
    values = {"APP_BACKEND": "Qt5Agg", "APP_TOKEN": "Qt5Agg", "CA_BUNDLE": "/gone/ca.pem"}
    for text, found in (
        ("ValueError: 'Qt5Agg' is not a valid value for backend", ["APP_BACKEND"]),
        ("OSError: invalid path: /gone/ca.pem", ["CA_BUNDLE"]),
        ("OSError: invalid path: /gone/ca.pem.old", []),
    ):
        assert [name for name, _ in without_settings(failure_of(text), values)] == found
    ((name, (step,)),) = without_settings(abort, env)
    assert (name, variables(step)) == ("XLA_FLAGS", {"XLA_FLAGS": None})


def test_what_the_driver_reads_is_varied_where_a_program_sees_no_gpu() -> None:
    """No frame of torch stands in such a traceback."""
    env = {"CUDA_DEVICE_ORDER": "BUS", "CUDA_HOME": "/usr/local/cuda", "TRITON_X": "1"}
    text = 'Traceback (most recent call last):\n  File "/p/train.py", line 3, in <module>\n'
    env |= {"JAX_PLATFORMS": "cpu", "NCCL_NET": "IB", "NVCC_APPEND_FLAGS": "--std=c++11"}
    for error, found in (
        ("AssertionError: no GPU", ["CUDA_DEVICE_ORDER", "JAX_PLATFORMS"]),
        ("DistBackendError: NCCL error", ["NCCL_NET"]),
        ("RuntimeError: Error building extension 'own'", ["NVCC_APPEND_FLAGS"]),
        ("ValueError: 3", []),
    ):
        failure = failure_of(text + error)
        assert [name for name, _ in without_settings(failure, env)] == found


def test_a_value_that_the_message_has_comes_before_other_settings() -> None:
    """The compiler that CXX names is gone: no switch has to hide that."""
    text = "InvalidCxxCompiler: No working C++ compiler found: (None, '/gone/bin/g++'), TORCH_LOGS"
    env = {"CXX": "/gone/bin/g++", "CC": "/gone/bin/gcc", "TORCH_LOGS": "all"}
    names = [name for name, _ in without_settings(failure_of(text), env)]
    assert names == ["TORCH_LOGS", "CXX"]
    found = without_settings(failure_of(text), env, by_value=True)
    assert [name for name, _ in found] == ["CXX", "TORCH_LOGS"]


def test_a_variable_of_python_and_a_path_that_is_gone_need_not_be_named(tmp_path: Path) -> None:
    env = {
        "PYTHONIOENCODING": "ascii",
        "LC_ALL": "C",
        "PYTHONPATH": "/lab",
        "PWD": "/gone/pwd",
        "APP_CERTS": "/gone/ca.pem",
        "CA_TOKEN_FILE": "/gone/x",
        "LAB_DIR": str(tmp_path),
    }
    for text, found in (
        ("UnicodeEncodeError: 'ascii' codec can't encode", ["PYTHONIOENCODING", "LC_ALL"]),
        ("FileNotFoundError: [Errno 2] No such file", ["PYTHONIOENCODING", "APP_CERTS"]),
        ("FileNotFoundError: No such file: '/gone/ca.pem/a'", ["PYTHONIOENCODING", "APP_CERTS"]),
        ("FileNotFoundError: No such file: '/opt/other'", ["PYTHONIOENCODING"]),
    ):
        names = [name for name, _ in without_settings(failure_of(text), env, by_value=True)]
        assert names == found, text


def test_a_part_of_a_value_is_enough() -> None:
    failure = failure_of("ValueError: Propagator jaeger not found.")
    ((name, _),) = without_settings(failure, {"OTEL_PROPAGATORS": "tracecontext,jaeger"})
    assert name == "OTEL_PROPAGATORS"


def test_any_variable_may_be_the_matter_but_not_those_of_the_shell(tmp_path: Path) -> None:
    env = {"LAB_MODE": "old", "PYTHONUTF8": "0", "EMPTY": "", "LAB_DIR": str(tmp_path)}
    apart = {"PWD": "/x", "PIP_INDEX_URL": "x", "HF_HUB_OFFLINE": "1", "LAB_TOKEN": "x"}
    assert suspected({**env, **apart}) == ("LAB_MODE", "PYTHONUTF8")
    assert [variables(step) for step in leaving_out(["LAB_MODE"])] == [{"LAB_MODE": None}]


def test_a_path_and_a_module_that_are_gone_are_spoken_of() -> None:
    """Whatever the name of the variable says: a path is no secret."""
    env = {
        "SSLKEYLOGFILE": "/gone/ssl.log",
        "LAB_SETTINGS_MODULE": "old.settings",
        "LAB_TOKEN": "old.settings",
        "LAB_THREADS": "many",
        "XDG_CACHE_HOME": "/gone/cache",
    }
    for text, found in (
        ("FileNotFoundError: No such file or directory: '/gone/ssl.log'", ("SSLKEYLOGFILE",)),
        ("ModuleNotFoundError: No module named 'old'", ("LAB_SETTINGS_MODULE",)),
        ("ModuleNotFoundError: No module named 'older'", ()),
        ("ValueError: LAB_THREADS has to be a number", ("LAB_THREADS",)),
        ("OSError: XDG_CACHE_HOME: /gone/cache", ()),
    ):
        assert spoken_of(failure_of(text), env) == found, text
    assert "XDG_CACHE_HOME" not in suspected(env)


def test_a_failure_that_asks_for_the_variable_is_no_step_forward() -> None:
    before = failure_of("ModuleNotFoundError: No module named 'old'\n")
    asks = failure_of("Error: set LAB_APP to the module of your program\n")
    assert not is_another(before, asks, "LAB_APP")
    assert is_another(before, failure_of("Error: no table users\n"), "LAB_APP")
    assert not is_another(before, before, "LAB_APP")


def test_a_proxy_goes_where_the_failure_speaks_of_it() -> None:
    """What runs on this machine goes past it first; an address without a scheme is one as well."""
    env = {"https_proxy": "http://me:secret@proxy.lab:3128", "NO_PROXY": "lab", "HOME": "/root"}
    far = failure_of("ProxyError('Unable to connect to proxy', OSError('403 Forbidden'))")
    near = failure_of("ProxyError: cannot reach http://127.0.0.1:8000/ through the proxy")
    assert [what for what, _ in without_proxies(far, env)] == ["https_proxy unset"]
    first, last = without_proxies(near, env)
    listed = "lab,localhost,127.0.0.1,::1"
    assert _set_by([first]) == [{"NO_PROXY": listed, "no_proxy": listed}]
    assert _set_by([last]) == [{"https_proxy": None}]
    named = failure_of("gaierror: cannot resolve gate.lab")
    assert [*without_proxies(named, {"ALL_PROXY": "gate.lab:80"})]
    assert not [*without_proxies(named, {"ALL_PROXY": "http://proxy.lab"})]
    assert not [*without_proxies(far, {"HOME": "/root"})]
