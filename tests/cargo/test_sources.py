"""What sources say of the founding bugs, in forms cut down from candle's history."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.model.facts import Fact, State
from doctor.observe.probes import cargo
from doctor.observe.scene import ProbeInput
from tests.hosts import facts_of, made_host, put

_LOCK = """version = 4

[[package]]
name = "candle-core"
version = "0.4.2"
source = "git+https://example.org/fork/candle#0123456789abcdef0123456789abcdef01234567"

[[package]]
name = "candle-flash-attn"
version = "0.8.2"
source = "git+https://example.org/fork/candle#0123456789abcdef0123456789abcdef01234567"

[[package]]
name = "cudarc"
version = "0.16.6"
source = "registry+https://github.com/rust-lang/crates.io-index"
"""
_BUILD = """fn main() {{
    let {mut}builder = bindgen_cuda::Builder::default()
        .arg("-O3");
    if msvc {{
        builder = builder.arg("-D_USE_MATH_DEFINES");
    }}
}}
"""
_SHAPE = """impl Shape {{
    pub fn is_contiguous(&self, stride: &[usize]) -> bool {{
        for (&stride, &dim) in stride.iter().zip(self.0.iter()).rev() {{
            if {test}stride != acc {{
                return false;
            }}
        }}
        true
    }}
}}
"""
_MATMUL = """impl MatMul {{
        let a_skip: usize = match lhs_stride[..rank - 2] {{
            [s1, stride] if s1 == stride * lhs_l.dims()[1] => stride,
        }};
        let b_skip: usize = match rhs_stride[..rank - 2] {{
            [s1, stride] if s1 == stride * rhs_l.dims()[1] => stride,
            {one}
        }};
}}
"""
_ONE = "[_, stride] if rhs_l.dims()[0] == 1 => stride,"
_METAL = (
    "impl BackendDevice for MetalDevice {{\n    fn same_device(&self, rhs: &Self) -> bool "
    "{{\n        {body}\n    }}\n}}\n"
)


def _seen(folder: Path, files: dict[str, str]) -> dict[str, Fact]:
    checkout = folder / "cargo/git/checkouts/candle-0011223344556677/0123456"
    for crate in ("candle-core", "candle-flash-attn"):
        put(checkout / crate / "Cargo.toml", f'[package]\nname = "{crate}"\n')
    for name, text in files.items():
        put(checkout / name, text)
    put(folder / "ws/Cargo.lock", _LOCK)
    host = made_host(folder, env={"CARGO_HOME": str(folder / "cargo")})
    whole = type(host)(env=host.env, cwd=host.cwd)
    return facts_of(cargo.probe(ProbeInput(host=whole, workspace=folder / "ws")))


@pytest.mark.parametrize(("mut", "expected"), [("", True), ("mut ", False)])
def test_a_builder_that_is_not_mutable(tmp_path: Path, mut: str, expected: bool) -> None:
    facts = _seen(tmp_path, {"candle-flash-attn/build.rs": _BUILD.format(mut=mut)})
    assert facts["candle.flash_attn_builder_immutable"].value is expected
    assert facts["crate.candle-flash-attn.path"].value.endswith("/0123456/candle-flash-attn")


def test_a_builder_that_is_assigned_once_is_fine(tmp_path: Path) -> None:
    script = (
        "fn main() {\n    let builder = bindgen_cuda::Builder::default();\n    "
        "builder.build_lib(out);\n}\n"
    )
    assert (
        _seen(tmp_path, {"candle-flash-attn/build.rs": script})[
            "candle.flash_attn_builder_immutable"
        ].value
        is False
    )


@pytest.mark.parametrize(
    ("test", "one", "expected"),
    [("dim > 1 && ", "", True), ("dim > 1 && ", _ONE, False), ("", "", False)],
    ids=["contiguous lenient, matmul strict", "both lenient", "both strict"],
)
def test_a_view_that_counts_as_contiguous_and_is_refused(
    tmp_path: Path, test: str, one: str, expected: bool
) -> None:
    files = {
        "candle-core/src/shape.rs": _SHAPE.format(test=test),
        "candle-core/src/cpu_backend/mod.rs": _MATMUL.format(one=one),
    }
    assert _seen(tmp_path, files)["candle.matmul_refuses_contiguous"].value is expected


def test_a_matmul_in_an_unknown_form_tells_nothing(tmp_path: Path) -> None:
    files = {
        "candle-core/src/shape.rs": _SHAPE.format(test="dim > 1 && "),
        "candle-core/src/cpu_backend/mod.rs": "mod matmul;",
    }
    assert _seen(tmp_path, files)["candle.matmul_refuses_contiguous"].state is State.UNKNOWN


@pytest.mark.parametrize(
    ("body", "expected"),
    [("self.device.registry_id() == rhs.device.registry_id()", True), ("self.id == rhs.id", False)],
)
def test_how_metal_devices_are_compared(tmp_path: Path, body: str, expected: bool) -> None:
    files = {"candle-core/src/metal_backend.rs": _METAL.format(body=body)}
    assert _seen(tmp_path, files)["candle.metal_compares_gpus"].value is expected


def test_without_a_metal_backend_nothing_is_compared(tmp_path: Path) -> None:
    assert (
        _seen(tmp_path, {"candle-core/src/lib.rs": ""})["candle.metal_compares_gpus"].value is False
    )


def test_what_cudarc_knows_is_read_from_its_script(tmp_path: Path) -> None:
    source = tmp_path / "cargo/registry/src/index.crates.io-0011223344556677/cudarc-0.16.6"
    put(source / "Cargo.toml", '[package]\nname = "cudarc"\n')
    put(
        source / "build.rs",
        'if cfg!(feature = "cuda-12090") { } else if cfg!(feature = "cuda-12000") { }',
    )
    assert _seen(tmp_path, {})["cudarc.known_cuda"].value == ["12.0", "12.9"]


def test_a_vendored_copy_is_found(tmp_path: Path) -> None:
    put(tmp_path / "ws/vendor/cudarc/Cargo.toml", '[package]\nname = "cudarc"\n')
    put(tmp_path / "ws/vendor/cudarc/build.rs", '"cuda-11080"')
    assert _seen(tmp_path, {})["cudarc.known_cuda"].value == ["11.8"]
