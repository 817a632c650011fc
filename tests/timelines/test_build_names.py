"""The reader of sources, on small packages of every kind that it must understand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from doctor.timelines import names
from doctor.timelines.build.name_files import Member, Release
from doctor.timelines.build.name_history import Histories
from doctor.timelines.build.name_package import Package, Scanner
from doctor.timelines.build.name_scan import scan
from doctor.timelines.build.name_syntax import without_bodies


def _package(files: Mapping[str, str | None], root: str = "pkg") -> Package:
    members = [
        Member(path, None if text is None else dedent(text).encode())
        for path, text in files.items()
    ]
    return Package(members, {root}, Scanner())


def _names(files: Mapping[str, str | None], module: str = "pkg") -> set[str]:
    return set(_package(files).names(module))


def test_definitions_in_branches_count() -> None:
    files = {
        "pkg/__init__.py": """
            try:
                from fast import quick
            except ImportError:
                def quick(a, *, b): ...
            if True:
                FLAG, OTHER = 1, 2
            else:
                class Old: ...
            for each in (): pass
            if __name__ == "__main__":
                script = 1
            del OTHER
        """
    }
    assert _names(files) >= {"quick", "FLAG", "Old"}
    assert "script" not in _names(files)


def test_star_imports_are_followed() -> None:
    files = {
        "pkg/__init__.py": "from .a import *\nfrom .b import *",
        "pkg/a.py": "__all__ = ['shown', '_shown']\nshown = _shown = hidden = 1",
        "pkg/b.py": (
            "from .c import *\nfrom . import c\n__all__ = c.__all__ + ['own']\nown = beside = 1"
        ),
        "pkg/c.py": "__all__ = ['deep']\ndef deep(): ...\ndef unlisted(): ...",
    }
    assert _names(files) == {"shown", "_shown", "deep", "own"}
    assert _package(files).names("pkg")["deep"] == ("pkg.c", "deep")


def test_circular_imports_are_followed() -> None:
    files = {
        "pkg/__init__.py": "from ._core import *\ndef top(): ...",
        "pkg/_core.pyi": "from pkg import top\nclass Thing: ...\nfloat8: int = ...",
    }
    assert _names(files) == {"Thing", "float8", "top"}


def test_lazy_structures_are_read() -> None:
    files = {
        "pkg/__init__.py": """
            import sys
            from typing import TYPE_CHECKING
            from .utils import _LazyModule
            _import_structure = {"config": ["Config"], "models": []}
            try:
                check()
            except Missing:
                pass
            else:
                _import_structure["models"].extend(["Model"])
                _import_structure["models"].append("Other")
                _import_structure["more"] = ["More"]
            if TYPE_CHECKING:
                from .config import Config
            else:
                sys.modules[__name__] = _LazyModule(__name__, globals()["__file__"], _import_structure)
        """,  # noqa: E501
        "pkg/config.py": "class Config: ...",
        "pkg/models.py": "class Model: ...\nclass Other: ...",
        "pkg/more.py": "class More: ...",
        "pkg/utils.py": "class _LazyModule: ...",
    }
    package = _package(files)
    assert package.names("pkg")["Model"] == ("pkg.models", "Model")
    assert {"Config", "Model", "Other", "More", "config", "models"} <= set(package.names("pkg"))
    assert not package.dynamic


def test_structures_of_folders_are_read() -> None:
    files = {
        "pkg/__init__.py": """
            _import_structure = {"base": ["Base"]}
            _import_structure.update(define_import_structure(Path(__file__).parent / "models"))
            sys.modules[__name__] = _LazyModule(__name__, __file__, _import_structure)
        """,
        "pkg/base.py": "class Base: ...",
        "pkg/models/__init__.py": "",
        "pkg/models/llama/__init__.py": "",
        "pkg/models/llama/modeling.py": "__all__ = ['Llama']\nclass Llama: ...\nclass Inner: ...",
    }
    assert {"Base", "Llama"} <= _names(files)
    assert "Inner" not in _names(files)


@pytest.mark.parametrize(
    ("text", "present", "absent"),
    [
        (
            """
            def __getattr__(name):
                if name in ("old", "older"):
                    return warn(name)
                if name == "gone":
                    raise AttributeError(name)
                raise AttributeError
            """,
            {"old", "older"},
            {"gone"},
        ),
        (
            """
            __deprecated__ = {}
            _info = [("float", "x"), ("int", "y")]
            __deprecated__.update({n: m for n, m in _info})
            __former__ = {"long": "use int"}
            def __getattr__(attr):
                try:
                    return __deprecated__[attr]
                except KeyError:
                    pass
                if attr in __former__:
                    raise AttributeError(attr)
                raise AttributeError
            """,
            {"float", "int"},
            {"long"},
        ),
        (
            """
            _deprecations = {"here": ("message", thing), "left": ("message", None)}
            __getattr__ = deprecation_getattr(__name__, _deprecations)
            """,
            {"here"},
            {"left"},
        ),
        (
            "for name in ('hann', 'boxcar'):\n    locals()[name] = deco(name)",
            {"hann", "boxcar"},
            set(),
        ),
        (
            (
                "import lazy\n__getattr__, __dir__, __all__ = lazy.attach(__name__, {'sub'}, "
                "{'m': ['f']})"
            ),
            {"sub", "f"},
            set(),
        ),
    ],
)
def test_names_that_a_module_answers(text: str, present: set[str], absent: set[str]) -> None:
    found = _names({"pkg/__init__.py": text})
    assert present <= found
    assert not absent & found


def test_a_module_that_nobody_can_read_is_dynamic() -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/any.py": "def __getattr__(name): return load(name)",
        "pkg/star.py": "from elsewhere import *",
        "pkg/_native.cpython-311-x86_64-linux-gnu.so": None,
        "pkg/python2.py": "print 'no'",
    }
    assert _package(files).dynamic == {"pkg.any", "pkg.star", "pkg._native", "pkg.python2"}


def test_bodies_are_left_out_and_lines_keep_their_numbers() -> None:
    lines = dedent(
        '''
        class A:
            def f(self, text="(", *,
                  other=None) -> "x":
                """Text."""
        # a comment at the margin
                self.value = 1
            def g(self): return 1
            h = 2
        '''
    ).split("\n")
    short = without_bodies(lines)
    assert len(short) == len(lines)
    found = scan("\n".join(lines).encode())
    assert found is not None
    assert found.classes["A"].attributes == {"f", "g", "h", "value"}
    assert found.classes["A"].methods["f"].parameters == ["text", "other"]


RELEASES = {
    "1.0": {
        "pkg/__init__.py": "from .core import f, Config, Model",
        "pkg/core.py": """
            from dataclasses import dataclass
            @dataclass
            class Base:
                size: int = 0
            @dataclass
            class Config(Base):
                old: int = 0
            class Model(Layer):
                def __init__(self, config, **kwargs):
                    self.config = config
                @property
                def device(self): ...
            def f(a, b): ...
            def same(a): ...
        """,
        "pkg/gone.py": "def moved(): ...\ndef other(): ...",
    },
    "2.0": {
        "pkg/__init__.py": "from .core import Config, Model\nfrom .functional import f",
        "pkg/functional.py": "@deprecate_kwarg('b', new_name='c')\ndef f(a, c): ...",
        "pkg/core.py": """
            from dataclasses import dataclass
            @dataclass
            class Base:
                size: int = 0
            @dataclass
            class Config(Base):
                new: int = 0
            class Model:
                def __init__(self, config):
                    self._config = config
            def same(a): ...
        """,
        "pkg/here.py": "def moved(): ...\ndef other(): ...",
    },
}


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    histories, scanner = Histories(), Scanner()
    for version, files in RELEASES.items():
        members = [Member(path, dedent(text).encode()) for path, text in files.items()]
        release = Release(version, f"pkg-{version}.whl", "", 0, "2026-01-01")
        histories.add(release, Package(members, {"pkg"}, scanner))
    (tmp_path / "pkg-dist.names").write_bytes(histories.encode("pkg-dist", ["pkg"], "2026-01-01"))
    (tmp_path / "owners.json").write_text('{"pkg": ["pkg-dist"]}')
    monkeypatch.setattr(names, "FOLDER", tmp_path)


@pytest.mark.usefixtures("built")
def test_what_was_built_can_be_asked() -> None:
    moved = names.importable("pkg.core", "f")
    assert moved is not None
    assert (moved.present, moved.moved_to) == ((("1.0", "1.0"),), "pkg.f")
    gone = names.module_history("pkg.gone")
    assert gone is not None
    assert (gone.has_left, gone.moved_to) == (True, "pkg.here")
    inner = names.importable("pkg.gone", "moved")
    assert inner is not None
    assert inner.moved_to == "pkg.here.moved"


@pytest.mark.usefixtures("built")
def test_parameters_follow_a_function_that_moved() -> None:
    found = names.parameters("pkg", "f")
    assert found is not None
    assert {name: each.present for name, each in found.parameters.items()} == {
        "a": (("1.0", "2.0"),),
        "b": (("1.0", "2.0"),),  # the decorator still accepts it
        "c": (("2.0", "2.0"),),
    }
    config = names.parameters("pkg", "Config")
    assert config is not None
    assert config.parameters["size"].always
    assert (config.parameters["old"].last, config.parameters["new"].first) == ("1.0", "2.0")


@pytest.mark.usefixtures("built")
def test_attributes_are_those_of_each_release() -> None:
    (found,) = names.class_attributes("Model", "pkg")
    assert (
        found.attributes["config"].present
        == found.attributes["device"].present
        == (("1.0", "1.0"),)
    )
    assert found.attributes["_config"].first == "2.0"
    assert found.dynamic.present == (("1.0", "1.0"),)  # Layer comes from elsewhere
