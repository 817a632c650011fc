"""Where a workspace's own Rust opens a Metal device."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from doctor.observe.cargo.places import blank_comments, metal_places
from tests.hosts import put

_TWICE = """use candle_core::Device;
fn main() -> candle_core::Result<()> {
    let one = Device::new_metal(0)?;
    let other = Device :: new_metal(0)?; // a second queue
    Ok(())
}
"""
_GIVER = """fn device() -> anyhow::Result<Device> {
    Ok(Device::new_metal(0)?)
}
pub fn first() { let d = device(); }
pub fn second() { let d = crate::device(); }
"""


def _places(folder: Path, *files: tuple[str, str]) -> tuple[str, ...]:
    for name, text in files:
        put(folder / name, text)
    return metal_places(folder, [folder])


def test_each_opening_is_a_place(tmp_path: Path) -> None:
    assert _places(tmp_path, ("src/main.rs", _TWICE)) == ("src/main.rs:3", "src/main.rs:4")


def test_a_function_that_gives_a_device_stands_for_its_callers(tmp_path: Path) -> None:
    assert _places(tmp_path, ("src/lib.rs", _GIVER)) == ("src/lib.rs:4", "src/lib.rs:5")


def test_a_giver_that_nobody_calls_is_a_place_itself(tmp_path: Path) -> None:
    assert _places(tmp_path, ("src/lib.rs", _GIVER.partition("pub fn")[0])) == ("src/lib.rs:2",)


@pytest.mark.parametrize(
    "code",
    [
        "// Device::new_metal(0)\n",
        "/* Device::new_metal(0) /* nested */ Device::new_metal(1) */",
        'let text = "Device::new_metal(0)";',
        'let text = r#"Device::new_metal(0) " Device::new_metal(1)"#;',
        "let cpu = Device::Cpu; let gpu = Device::new_cuda(0);",
        "MyDevice::new_metal(0)",
    ],
)
def test_what_only_looks_like_an_opening_is_none(tmp_path: Path, code: str) -> None:
    assert _places(tmp_path, ("src/main.rs", f"fn main() {{ let tick = '\"'; {code} }}")) == ()


def test_tests_vendored_code_and_builds_are_not_the_program(tmp_path: Path) -> None:
    names = (
        "tests/a.rs",
        "benches/a.rs",
        "target/debug/a.rs",
        "vendor/candle/src/lib.rs",
        ".git/a.rs",
    )
    assert (
        _places(
            tmp_path,
            ("inner/Cargo.toml", ""),
            ("inner/src/lib.rs", _TWICE),
            *((name, _TWICE) for name in names),
        )
        == ()
    )


def test_bare_code_keeps_its_lines() -> None:
    code = 'a /* x\n y */ b "s\n\\" t" c // d\n e'
    assert blank_comments(code) == "a \n b \n c \n e"


@pytest.mark.parametrize(
    "piece",
    ['r#"', '"', "/*", "'", "Device::new_metal(", "fn f(", "fn x() -> ", "\\", "r" + "#" * 50],
)
def test_hostile_code_is_read_in_linear_time(tmp_path: Path, piece: str) -> None:
    code = "Device " + piece * ((1 << 20) // len(piece))
    started = time.process_time()
    metal_places(tmp_path, [put(tmp_path / "src/main.rs", code).parents[1]])
    assert time.process_time() - started < 10
