"""Checks that share the imports of the first.

Each lives and dies alone, and where the fork itself may be to blame it is run again.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from doctor.model.outcomes import Verdict
from tests.checks.beside import module
from tests.faults.standins import lives_on, orphan
from tests.runner.shared import run_shared

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="checks share imports on Linux only"
)

_SECOND = """
    import builtins
    told = {"shared": getattr(builtins, "shared", None), "pid": os.getpid(), "session": os.getsid(0), "folder": os.getcwd()}
    told.update(result=os.environ["CANARY_RESULT"], argv=sys.argv, main=__name__, path=sys.path)
    put(None, verdict="passed", data=told)
"""  # noqa: E501


def test_imports_are_shared_and_nothing_else_is(tmp_path: Path) -> None:
    found = run_shared(tmp_path, {"one": _SECOND, "two": _SECOND})
    assert {outcome.verdict for outcome in found.values()} == {Verdict.PASSED}
    one, two = found["one"].data, found["two"].data
    assert one["shared"] == two["shared"] is not None
    assert len({found["first"].data["pid"], one["pid"], two["pid"], one["shared"]}) == 4
    for told in one, two:
        assert told["session"] == told["pid"]
        assert told["result"] == f"{told['folder']}/result.json"
        assert told["main"] == "__main__"
        assert not {"", str(Path(__file__).parents[2] / "checks")} & set(told["path"])
    assert one["folder"] != two["folder"]
    assert one["argv"] == [str(tmp_path / "one.py")]


@pytest.mark.parametrize(
    "end", ["os.abort()", "os._exit(0)", "os.kill(os.getpid(), 9)", "time.sleep(600)"]
)
def test_one_that_dies_leaves_the_others_alone(tmp_path: Path, end: str) -> None:
    found = run_shared(tmp_path, {"one": f"act()\n{end}", "two": _SECOND}, timeout=4)
    assert found["one"].verdict in (Verdict.CRASHED, Verdict.TIMED_OUT)
    assert found["one"].cases["forward"].verdict is found["one"].verdict
    assert found["two"].verdict is Verdict.PASSED
    assert found["two"].data["shared"] is not None


_ONLY_WHEN_SHARED = """
    import builtins
    if hasattr(builtins, "shared"):
        {}
    put(None, verdict="passed")
"""


@pytest.mark.parametrize(
    "end",
    [
        "act(); os.abort()",
        "act(); time.sleep(600)",
        "raise KeyError('shape')",
        (
            "put(None, verdict='failed', reason='Cannot re-initialize CUDA in forked "
            "subprocess'); sys.exit()"
        ),
        "act(); os.kill(os.getppid(), 9); time.sleep(600)",
    ],
)
def test_what_the_fork_may_have_done_is_tried_again_alone(tmp_path: Path, end: str) -> None:
    found = run_shared(tmp_path, {"one": _ONLY_WHEN_SHARED.format(end)}, timeout=4)
    assert (found["one"].verdict, found["one"].reason) == (Verdict.PASSED, "")


def test_a_wrong_number_is_no_matter_of_the_fork(tmp_path: Path) -> None:
    body = _ONLY_WHEN_SHARED.format("put(None, verdict='failed', reason='2 + 2 is 5'); sys.exit()")
    assert run_shared(tmp_path, {"one": body})["one"].reason == "2 + 2 is 5"


@pytest.mark.parametrize(
    "before",
    [
        "act()\nos.abort()\n",
        "act()\ntime.sleep(600)\n",
        "put(None, verdict='skipped')\nsys.exit()\n",
    ],
)
def test_without_a_fork_server_each_is_started_by_itself(tmp_path: Path, before: str) -> None:
    found = run_shared(tmp_path, {"one": _SECOND}, before=before, timeout=4)
    assert found["first"].verdict is not Verdict.PASSED
    assert (found["one"].verdict, found["one"].data["shared"]) == (Verdict.PASSED, None)


def test_a_check_about_the_machine_has_a_start_of_its_own(tmp_path: Path) -> None:
    assert run_shared(tmp_path, {"one": _SECOND}, devices="host")["one"].data["shared"] is None


def test_a_process_that_holds_a_device_is_not_forked(tmp_path: Path) -> None:
    (tmp_path / "device").touch()
    before = (
        f"FORK_SERVER.__func__.__globals__['DEVICES'] = ({str(tmp_path)!r},)\nheld = "
        f"open({str(tmp_path / 'device')!r})\n"
    )
    found = run_shared(tmp_path, {"one": _SECOND}, before=before)
    assert found["first"].verdict is Verdict.PASSED
    assert found["one"].data["shared"] is None


@pytest.mark.parametrize(
    "node",
    [
        "nvidia0",
        "nvhost-ctrl-gpu",
        "nvmap",
        "nvgpu/igpu0/ctrl",
        "accel/accel0",
        "davinci0",
        "kfd",
        "dri/renderD128",
        "dxg",
    ],
)
def test_nodes_of_accelerators_are_known(node: str) -> None:
    assert f"/dev/{node}".startswith(module("fork_server").DEVICES)
    assert not "/dev/nvme0".startswith(module("fork_server").DEVICES)


def test_the_output_of_one_is_its_own_and_bounded(tmp_path: Path) -> None:
    loud = "act()\nwhile True: os.write(1, b'spam and eggs\\n' * 4096)"
    found = run_shared(
        tmp_path,
        {"one": loud, "two": "print('only this', flush=True)\nact()\nos._exit(3)"},
        timeout=4,
    )
    assert found["one"].verdict is Verdict.TIMED_OUT
    assert 1000 < len(found["one"].log) < 1 << 20
    assert found["two"].log == "only this\n"


def test_an_orphan_of_one_does_not_outlive_therun_shared(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    assert (
        run_shared(tmp_path, {"one": orphan(note) + "put(None, verdict='passed')"})["one"].verdict
        is Verdict.PASSED
    )
    assert not lives_on(int(note.read_text(encoding="utf-8")))
