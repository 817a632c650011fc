"""The names of facts about Rust and a Cargo workspace; they are part of the vocabulary."""

from __future__ import annotations

WORKSPACE: dict[str, str] = {
    "rust.rustc": "version of rustc",
    "rust.cargo": "version of cargo",
    "rust.toolchain": "name of the active toolchain",
    "rust.host": "target triple that this rustc compiles for",
    "rust.bin": "folder of the cargo and the rustc that the workspace would use",
    "cargo.workspace": "folder of the Cargo workspace",
    "cargo.lock": "path of its Cargo.lock",
    "cargo.lock_problem": "why the lock could not be read",
    "cargo.lock_version": "version of the lock's format, 4",
    "cargo.features": "features that were asked for with --features",
    "cargo.members": "names of the packages of the workspace",
    "cargo.resolved": (
        "how many packages a build takes in, as cargo itself resolves them here; unknown "
        "where it cannot tell offline"
    ),
    "cargo.target_directory": "folder where the workspace's builds go",
    "cargo.rust_wanted": "newest rust-version that a crate of the build asks for",
    "cargo.rust_wanted_by": "crate that asks for it: candle-core 0.11.0",
    "crate.*.version": "version of a crate in Cargo.lock",
    "crate.*.source": "registry, git or path",
    "crate.*.commit": "commit of a crate from git",
    "crate.*.url": "repository of a crate from git",
    "crate.*.rev": (
        "rev that the manifests name for a crate from git, as they spell it; absent where "
        "they name a branch, a tag or nothing"
    ),
    "crate.*.versions": "all its versions in Cargo.lock",
    "crate.*.used": "false where the lock lists it, but no build with these features takes it in",
    "crate.*.features": "features of it that are on",
    "crate.*.path": "folder of its source, as this workspace takes it",
    "candle.features": (
        "cuda, cudnn, nccl, metal, accelerate, mkl, flash-attn: those of candle's features "
        "that are on"
    ),
    "candle.built": (
        "true where the workspace's own target folder holds a candle-core for the CPU, built "
        "since the lock last changed"
    ),
    "candle.copies": (
        "copies of candle-core in Cargo.lock, where there are several: 0.8.2 (registry)"
    ),
    "candle.flash_attn_builder_immutable": (
        "true where candle-flash-attn's own build.rs assigns to a builder that is not mutable"
    ),
    "candle.metal_compares_gpus": (
        "true where candle-core's own source takes two Metal handles of one GPU for the same device"
    ),
    "candle.matmul_refuses_contiguous": (
        "true where candle-core's own source calls a view contiguous that its matmul refuses"
    ),
    "candle.metal_places": (
        "places in the workspace's own Rust that open a Metal device, where there are "
        "several: src/main.rs:12"
    ),
    "cudarc.known_cuda": "CUDA versions that cudarc's own build script knows: 12.9",
    # derived
    "rust.too_old": "true where a crate of the build asks for a newer rustc than this one",
    "cudarc.rejects_toolkit": (
        "true where cudarc asks nvcc for its version, and does not know the answer"
    ),
    "candle.built_for": (
        "compute capability that a build of candle here compiles for: CUDA_COMPUTE_CAP, else "
        "the first GPU's"
    ),
    "candle.built_too_new_for": "compute capabilities here that are older than that",
    "candle.without_kernels": (
        "crates of the build whose own kernels are off although candle-core's are on: "
        "candle-nn without metal"
    ),
}
