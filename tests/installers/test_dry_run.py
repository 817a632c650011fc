"""Real installers are asked, and nothing changes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import uv

from doctor.environments.installer import (
    Answer,
    Conflict,
    NoAnswer,
    NoAnswerReason,
    Resolution,
    dry_run,
    installed,
    problems,
)
from doctor.environments.inventory import own_check
from doctor.environments.statements import failure
from doctor.host import Host
from doctor.model.fixes import Command
from doctor.model.plans import Change
from tests.fingerprint import fingerprint
from tests.installers.wheelhouse import make_wheel


class House(NamedTuple):
    """An environment with base 1.0 in it, wheels beside it, and the host to ask on."""

    python: Path
    folders: tuple[Path, ...]
    wheels: Path
    host: Host

    def uv(self, *arguments: str, verb: str = "install") -> Answer:
        where = () if verb == "uninstall" else ("--no-index", "--find-links", str(self.wheels))
        argv = ("uv", "pip", verb, "--python", str(self.python), *where, *arguments)
        return dry_run(Command(argv=argv), self.host)

    def pip(self, *arguments: str, verb: str = "install") -> Answer:
        where = ("--no-index", "--find-links", str(self.wheels)) if verb == "install" else ("-y",)
        argv = (str(self.python), "-m", "pip", verb, *where, *arguments)
        return dry_run(Command(argv=argv), self.host)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    folder = tmp_path_factory.mktemp("house")
    wheels = folder / "wheels"
    wheels.mkdir()
    make_wheel(wheels, "base", "1.0")
    make_wheel(wheels, "base", "2.0", payload=5000)
    make_wheel(wheels, "needs-old", "1.0", requires=["base<2"])
    make_wheel(wheels, "needs-new", "1.0", requires=["base>=2"])
    make_wheel(wheels, "future", "1.0", python=">=3.99")
    make_wheel(wheels, "elsewhere", "1.0", tag="cp27-none-any")
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PIP_")},
        "PATH": str(Path(uv.find_uv_bin()).parent) + os.pathsep + os.environ["PATH"],
        "UV_CACHE_DIR": str(folder / "cache"),
    }
    host = Host(cwd=folder, env=env)
    subprocess.run(
        [uv.find_uv_bin(), "venv", "-q", "--python", sys.executable, "env"],
        cwd=folder, env=env, check=True,
    )  # fmt: skip
    python = folder / ("env/Scripts/python.exe" if os.name == "nt" else "env/bin/python")
    subprocess.run(
        [
            uv.find_uv_bin(),
            "pip",
            "install",
            "-q",
            "--python",
            str(python),
            "--no-index",
            "--find-links",
            str(wheels),
            "base==1.0",
            "needs-old",
        ],
        cwd=folder,
        env=env,
        check=True,
    )
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    site = folder / (
        "env/Lib/site-packages" if os.name == "nt" else f"env/lib/{version}/site-packages"
    )
    return House(python, (site,), wheels, host)


def test_uv_names_what_moves_and_nothing_is_written(house: House) -> None:
    before = fingerprint(house.folders[0])
    answer = house.uv("base==2.0")
    assert isinstance(answer, Resolution)
    assert answer.changes == (Change(name="base", before="1.0", after="2.0"),)
    assert not answer.is_no_op
    assert fingerprint(house.folders[0]) == before


def test_what_is_there_already_is_a_no_op(house: House) -> None:
    answer = house.uv("base==1.0")
    assert isinstance(answer, Resolution)
    assert answer.is_no_op
    assert answer.download_bytes == 0


def test_two_rules_of_a_conflict_of_uv(house: House) -> None:
    answer = house.uv("needs-old", "needs-new")
    assert isinstance(answer, Conflict)
    assert set(answer.rules) == {
        "needs-old depends on base<2",
        "needs-new depends on base>=2",
    }


def test_the_users_own_rule_stands_last(house: House) -> None:
    answer = house.uv("needs-new", "base<2")
    assert isinstance(answer, Conflict)
    assert answer.rules == ("needs-new depends on base>=2", "you require base<2")


def test_a_python_and_a_wheel_that_do_not_fit_are_conflicts(house: House) -> None:
    for name, words in (
        ("future", "needs Python>=3.99"),
        ("elsewhere", "has wheels for cp27 only"),
    ):
        answer = house.uv(name)
        assert isinstance(answer, Conflict), answer
        assert words in answer.rules[0]
        assert answer.rules[1].startswith("this is ")


def test_a_release_that_does_not_exist_is_a_conflict(house: House) -> None:
    answer = house.uv("base==9")
    assert isinstance(answer, Conflict)
    assert "you require base==9" in answer.rules


def test_uv_uninstalls_in_thought_alone(house: House) -> None:
    answer = house.uv("base", verb="uninstall")
    assert isinstance(answer, Resolution)
    assert answer.changes == (Change(name="base", before="1.0", after=None),)
    assert installed(house)["base"] == "1.0"


def test_pip_without_a_dry_run_for_uninstall_is_simulated(house: House) -> None:
    answer = house.pip("Base", "absent", verb="uninstall")
    assert isinstance(answer, Resolution)
    assert answer.changes == (Change(name="base", before="1.0", after=None),)


def test_a_missing_pip_is_no_conflict(house: House) -> None:
    answer = house.pip("base==2.0")
    assert isinstance(answer, NoAnswer)
    assert answer.why is NoAnswerReason.NO_INSTALLER


def test_an_index_that_is_down_is_no_conflict_and_its_password_is_hidden(house: House) -> None:
    answer = dry_run(
        Command(
            argv=(
                *("uv", "pip", "install", "--python", str(house.python)),
                *("--index-url", "http://someone:hunter2secret@127.0.0.1:9/simple", "thing"),
            ),
            env={"UV_HTTP_RETRIES": "0"},
        ),
        house.host,
    )
    assert isinstance(answer, NoAnswer)
    assert answer.why is NoAnswerReason.NETWORK
    assert "hunter2secret" not in answer.text


def test_a_release_that_has_to_be_built_is_no_conflict() -> None:
    """Builds are off in the question, so that uv derives a conflict from what has no wheel."""
    text = """error: No solution found when resolving dependencies
  cause: Because sgmllib3k==1.0.0 has no usable wheels and only sgmllib3k==1.0.0 is available,
         we can conclude that all versions of sgmllib3k cannot be used.
         And because feedparser==6.0.10 depends on sgmllib3k and you require feedparser==6.0.10,
         we can conclude that your requirements are unsatisfiable."""
    answer = failure(text)
    assert isinstance(answer, NoAnswer)
    assert answer.why is NoAnswerReason.NEEDS_BUILD
    another = "feedparser==6.0.10 depends on chardet>=9 and you require chardet<6"
    told = "feedparser==6.0.10 depends on sgmllib3k and you require feedparser==6.0.10"
    assert isinstance(failure(text.replace(told, another)), Conflict)


def test_what_is_not_there_and_what_has_no_dry_run(house: House) -> None:
    for argv, why in (
        (("mamba", "install", "x"), NoAnswerReason.NO_INSTALLER),
        (("rm", "-rf", "x"), NoAnswerReason.NO_DRY_RUN),
        (("uv", "cache", "clean"), NoAnswerReason.NO_DRY_RUN),
        (("uv", "pip", "install", "--python", "nowhere", "x"), NoAnswerReason.NO_ENVIRONMENT),
    ):
        answer = dry_run(Command(argv=argv), house.host)
        assert isinstance(answer, NoAnswer), answer
        assert answer.why is why, answer


def test_a_resolver_without_an_end_is_stopped(house: House) -> None:
    argv = ("uv", "pip", "install", "--python", str(house.python), "base")
    answer = dry_run(Command(argv=argv), house.host, timeout=0.001)
    assert isinstance(answer, NoAnswer)
    assert answer.why is NoAnswerReason.TIMEOUT


def test_what_is_installed_and_does_not_fit(house: House, tmp_path: Path) -> None:
    assert installed(house) == {"base": "1.0", "needs-old": "1.0"}
    assert problems(house, house.host) == ()
    (old,) = house.folders[0].glob("base-1.0.dist-info/METADATA")
    text = old.read_text(encoding="utf-8")
    old.unlink()  # a link into the cache
    old.write_text(text + "Requires-Dist: missing>=1\n", encoding="utf-8")
    try:
        for lines in (problems(house, house.host), own_check(house, house.host)):
            assert len(lines) == 1, lines
            assert "missing" in lines[0]
    finally:
        old.write_text(text, encoding="utf-8")


def test_a_package_that_is_reinstalled_counts_as_a_download(house: House) -> None:
    """Fetched again by uv, also where it lies in the cache."""
    answer = house.uv("--reinstall-package", "base", "base==1.0")
    assert isinstance(answer, Resolution)
    assert answer.changes == (Change(name="base", before="1.0", after="1.0"),)
    assert answer.download_bytes != 0
