"""What cannot be loaded as it lies there, and files of a project that hide a module."""

from __future__ import annotations

import base64
import hashlib
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from doctor.environments.clone import Clone
from doctor.environments.environment import Environment, environment_at
from doctor.host import CompletedCommand, Host, Termination
from doctor.model.fixes import Command, Step
from doctor.model.plans import Plan
from doctor.observe.installed.distributions import installed
from doctor.repair import commands
from doctor.repair.commands import Kind, Places
from doctor.repair.damage import changed, damaged, damaged_libraries, dead_links
from doctor.repair.failures import failure_of
from doctor.repair.merging import combined
from doctor.repair.requests import Original
from doctor.repair.resolve import conflict_words
from doctor.repair.shadows import shadows
from doctor.repair.suspects import beneath
from doctor.repair.trial import Runner
from tests.sites import install, site_of


def _package(site: Path, name: str, tag: str) -> Path:
    info, code = site / f"{name}-1.0.dist-info", b"VALUE = 1\n"
    info.mkdir(parents=True)
    (site / name).mkdir()
    (site / name / "__init__.py").write_bytes(code)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nTag: {tag}\n")
    digest = base64.urlsafe_b64encode(hashlib.sha256(code).digest()).decode().rstrip("=")
    (info / "RECORD").write_text(f"{name}/__init__.py,sha256={digest},{len(code)}\n")
    return site / name / "__init__.py"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a folder for packages."""
    return tmp_path / "env" / "site-packages"


def _around(site: Path) -> Environment:
    real = environment_at(Path(sys.executable), Host())
    return msgspec.structs.replace(real, root=site.parent, folders=(site,))


@pytest.mark.skipif(
    platform.machine() != "x86_64"
    or sys.platform != "linux"
    or sys.implementation.name != "cpython",
    reason="the tags of this platform",
)
def test_packages_of_other_wheels_come_again_together(site: Path) -> None:
    here = f"cp{sys.version_info.major}{sys.version_info.minor}"
    _package(site, "whole", f"{here}-{here}-manylinux_2_17_x86_64")
    _package(site, "arm", f"{here}-{here}-manylinux_2_17_aarch64")
    _package(site, "later", "cp399-cp399-manylinux_2_17_x86_64")
    _package(site, "stable", "cp37-abi3-manylinux_2_17_x86_64")
    changed = _package(site, "changed", "py3-none-any")
    changed.write_bytes(b"VALUE = 2\n")
    _package(site, "gone", "py3-none-any").unlink()
    packages = {one.name: one for one in installed([str(site)])}

    def names(*spoken: str) -> list[str]:
        return [one.package.name for one in damaged(spoken, packages, _around(site))]

    assert names("arm") == ["arm", "later"]
    assert names("whole", "stable") == []
    assert names("changed", "gone", "whole") == ["changed", "gone"]


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("profile.py", "AttributeError: module 'profile' has no attribute 'run'", True),
        ("random.py", "ImportError: cannot import name 'Random' from 'random' (/x)", True),
        ("named.py", "AttributeError: module 'named' has no attribute 'VALUE'", True),
        ("profile.py", "AttributeError: module 'torch' has no attribute 'run'", False),
        ("tools.py", "AttributeError: module 'tools' has no attribute 'run'", False),
    ],
)
def test_a_file_that_hides_a_module_is_named(
    site: Path, tmp_path: Path, file: str, text: str, *, found: bool
) -> None:
    """The failure has to speak of it: a file of such a name alone says nothing."""
    (tmp_path / file).write_text("X = 1\n")
    (tmp_path / "user.py").write_text(f"import {file[:-3]}\n")
    trace = f'Traceback (most recent call last):\n  File "{tmp_path}/program.py", line 1\n{text}'
    around = _around(site)
    every = [*shadows(failure_of(trace), {"named"}, around, tmp_path)]
    assert [one.file.name for one in every] == ([file] if found else [])
    for one in every:
        assert "user.py" in one.note
        assert commands.task(one.step, around).kind is Kind.RENAME


@pytest.mark.parametrize(
    ("hiding", "text", "found"),
    [
        ("named/__init__.py", "ImportError: cannot import name 'f' from 'named' (/x)", "named"),
        ("named/data.txt", "ImportError: cannot import name 'f' from 'named' (/x)", ""),
        ("fast.abi3.so", "ImportError: {folder}/fast.abi3.so: undefined symbol: x", "fast.abi3.so"),
        ("fast.abi3.so", "ImportError: /other/fast.abi3.so: undefined symbol: x", ""),
        ("named.pyc", "ImportError: bad magic number in 'named': b'\\x03\\xf3'", "named.pyc"),
        ("fast.pyc", "ImportError: bad magic number in 'fast': b'\\x03\\xf3'", ""),
    ],
)
def test_a_folder_or_a_compiled_module_hides_as_well(
    site: Path, tmp_path: Path, hiding: str, text: str, found: str
) -> None:
    """A compiled module that no longer fits comes before its own source."""
    place = tmp_path / hiding
    place.parent.mkdir(exist_ok=True)
    place.write_text("X = 1\n")
    (tmp_path / "fast.py").write_text("X = 1\n")
    text = text.format(folder=tmp_path)
    trace = f'Traceback (most recent call last):\n  File "{tmp_path}/program.py", line 1\n{text}'
    around = _around(site)
    every = [*shadows(failure_of(trace), {"named"}, around, tmp_path)]
    assert [one.file.name for one in every] == ([found] if found else [])
    assert all(commands.task(one.step, around).kind is Kind.RENAME for one in every)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "named"\n')
    every = [*shadows(failure_of(trace), {"named"}, around, tmp_path)]
    assert "named" not in [one.file.name for one in every]


def test_a_rename_stays_in_its_folder(site: Path) -> None:
    for words in (
        ("-i", "/p/a.py", "/q/b.py"),
        ("-f", "/p/a.py", "/p/b.py"),
        ("-i", "a.py", "b.py"),
    ):
        step = Step(command=Command(argv=("mv", *words)))
        assert commands.task(step, _around(site)).kind is Kind.REFUSED


def test_a_later_step_decides_for_a_package() -> None:
    """Else one step moves what another one pins."""
    head = ("uv", "pip", "install", "--python", "/e/bin/python")
    first = Plan(title="", steps=(Step(command=Command(argv=(*head, "core==2", "other==1"))),))
    again = (*head, "--reinstall-package", "core", "core==3")
    both = combined(first, Plan(title="", steps=(Step(command=Command(argv=again)),)))
    assert [one.command.argv[5:] for one in both.steps if one.command] == [
        ("other==1",),
        ("--reinstall-package", "core", "core==3"),
    ]


def test_what_is_not_offered_is_said_in_a_sentence() -> None:
    rules = ("boto 1.0 depends on url<2", "you require url==2.2.3")
    wanted = "boto 1.0 with what it needs asks for url<2, and the plan keeps url==2.2.3."
    assert conflict_words(rules) == wanted


def test_packages_that_come_again_take_one_step() -> None:
    head = ("uv", "pip", "install", "--python", "/e/bin/python")
    plan = Plan(title="")
    for name in ("one", "two"):
        argv = (*head, "--reinstall-package", name, "--no-deps", f"{name}==1")
        plan = combined(plan, Plan(title="", steps=(Step(command=Command(argv=argv)),)))
    (step,) = plan.steps
    assert step.command is not None
    assert step.command.argv[-2:] == ("one==1", "two==1")
    assert step.command.argv.count("--reinstall-package") == 2


def test_a_file_that_is_gone_counts_beneath_the_packages_of_a_failure(site: Path) -> None:
    """The message names the package above: `optional dependency 'table' is missing`."""
    above, below = (_package(site, name, "py3-none-any") for name in ("table", "sheet"))
    info = site / "table-1.0.dist-info/METADATA"
    info.write_text(f"{info.read_text()}Requires-Dist: sheet\n")
    here = {one.name: one for one in installed([str(site)])}
    failure = failure_of("ImportError: Missing optional dependency 'table'")
    names = beneath(failure, here, _around(site))
    assert names == ("table", "sheet")
    assert not damaged((), here, _around(site), names)
    below.unlink()
    assert above.exists()
    (found,) = damaged((), here, _around(site), names)
    assert found.why == "sheet/__init__.py is gone"


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links of POSIX")
def test_what_no_hash_of_a_record_tells(site: Path) -> None:
    module = _package(site, "video", "py3-none-any")
    program = module.with_name("tool")
    program.write_bytes(b"\x7fELF and so on")
    program.chmod(0o755)
    record = site / "video-1.0.dist-info/RECORD"
    record.write_text(f"video/tool,,13\n{record.read_text()}")

    def why() -> str:
        here = {one.name: one for one in installed([str(site)])}
        return "; ".join(one.why for one in damaged(["video"], here, _around(site), ["video"]))

    assert why() == ""
    program.chmod(0o644)
    assert why() == "video/tool is a program, and may not be executed"
    program.chmod(0o755)
    (site / "video-1.0.dist-info/METADATA").unlink()
    assert why() == "video-1.0.dist-info/METADATA is gone"
    (one,) = [one for one in installed([str(site)]) if one.name == "video"]
    assert not dead_links(one)
    module.parent.rename(site / "elsewhere")
    (site / "video").symlink_to(site / "purged")
    assert dead_links(one) == (site / "video",)


def test_what_uv_writes_again_comes_from_its_cache_unless_that_is_damaged(site: Path) -> None:
    """A file that somebody edited in place may be the very file of the cache."""
    file = _package(site, "core", "py3-none-any")
    asked: list[str] = []

    class _Copy:
        environment = _around(site)
        scratch = SimpleNamespace(folder=site)

        def run(self, _argv: Sequence[str], **options: Any) -> CompletedCommand:
            asked.append(options["env"].get("UV_OFFLINE", ""))
            return CompletedCommand(ended=Termination.ITSELF, code=0)

    request = SimpleNamespace(offline=False)
    original = cast("Original", SimpleNamespace(request=request))
    runner = Runner(original, cast("Clone", _Copy()), Places(()), lambda *_: None, site)

    def runs(*options: str) -> list[str]:
        asked.clear()
        argv = ("uv", "pip", "install", "--python", "P", *options, "core==1.0")
        command = Command(argv=argv)
        each = commands.Task(Step(command=command), Kind.INSTALL)
        runner._run(command, each, "", 9.0)
        return list(asked)

    again = ("--no-deps", "--reinstall-package", "core")
    assert runs() == [""]
    assert runs(*again) == ["1"]
    file.write_text("VALUE = 2\n")
    assert runs(*again) == ["1", ""]


def test_a_library_that_is_not_the_one_installed(site: Path) -> None:
    """Sizes tell, and where all are right, hashes do; modules are no matter for a crash."""
    for name in ("whole", "short", "other"):
        _package(site, name, "py3-none-any")
        code = b"\x7fELF" + name.encode() * 9
        (site / name / "core.so").write_bytes(code)
        digest = base64.urlsafe_b64encode(hashlib.sha256(code).digest()).decode().rstrip("=")
        with (site / f"{name}-1.0.dist-info" / "RECORD").open("a") as record:
            record.write(f"{name}/core.so,sha256={digest},{len(code)}\n")
    (site / "whole" / "__init__.py").write_bytes(b"VALUE = 22\n")
    (site / "other" / "core.so").write_bytes(b"\x7fELF" + bytes(45))
    packages = {one.name: one for one in installed([str(site)])}

    def told() -> list[str]:
        return [one.why for one in damaged_libraries(packages, _around(site))]

    assert told() == ["other/core.so is not the file that was installed"]
    (site / "short" / "core.so").write_bytes(b"\x7fELF")
    assert told() == ["short/core.so is cut off: 4 bytes of 49"]


def test_a_data_file_that_is_gone_is_damage(tmp_path: Path) -> None:
    """A theme names its settings `theme.conf`; a licence or a test is no matter."""
    prefix = tmp_path / "env"
    files = {"theme/__init__.py": "", "theme/theme.conf": "[theme]", "theme/tests/data.txt": "x"}
    install(prefix, "theme", "1.0", files=files)
    site = site_of(prefix)
    (one,) = installed([str(site)])
    (site / "theme/tests/data.txt").unlink()
    assert changed(one) == ""
    (site / "theme/theme.conf").unlink()
    assert changed(one) == "theme/theme.conf is gone"
