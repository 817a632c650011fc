"""A package's build script, compiled and never run.

Against the crates that it really uses, else against stubs of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from candle import builds, workspace
from candle.cargo import Cargo, Undone
from candle.crate import Crate
from candle.workspace import Workspace, toml

STUBS = Path(__file__).resolve().parent / "stubs"
ITS_OWN = {"E0381", "E0384", "E0594", "E0596"}
"""Assigned twice, or before there is a value.

Faults of the script alone, whatever its crates are like.
"""
DEEPEST = 40


def package_and_workspace(cargo: Cargo, name: str) -> tuple[dict[str, Any], Workspace | None, str]:
    """Return the package of a name and the resolved workspace.

    Where cargo resolves nothing here, what the paths lead to, and why.
    """
    try:
        whole = workspace.read(cargo)
    except Undone as undone:
        package = by_path(cargo, name)
        if package is None:
            raise
        return package, None, str(undone)
    return whole.the(name), whole, ""


def by_path(cargo: Cargo, name: str) -> dict[str, Any] | None:
    """Return a package that the workspace reaches by paths alone, so that nothing is resolved."""
    waiting, seen = [cargo.workspace / "Cargo.toml"], {Path()}
    while waiting and len(seen) < DEEPEST:
        manifest = waiting.pop(0)
        if manifest in seen or not manifest.is_file():
            continue
        seen.add(manifest)
        try:
            packages = cargo.metadata(manifest, "--no-deps")["packages"]
        except Undone:
            continue
        for package in packages:
            if package["name"] == name:
                return dict(package)
            waiting += [
                Path(dep["path"]) / "Cargo.toml"
                for dep in package["dependencies"]
                if dep.get("path")
            ]
    return None


def source(package: dict[str, Any]) -> Path:
    """Return the file of a package's build script."""
    for target in package["targets"]:
        if "custom-build" in target["kind"]:
            return Path(target["src_path"])
    raise Undone(f"this {package['name']} {package['version']} has no build script")


def against_its_crates(
    cargo: Cargo, package: dict[str, Any], whole: Workspace, folder: Path
) -> builds.Fault | None:
    """Check the script as a program of a crate of ours that has its build-dependencies.

    None where it compiles.
    """
    used = {each["name"]: each for each in whole.built_with(package).values()}
    needs = {
        declared["rename"] or declared["name"]: workspace.dependency(
            used[declared["name"]], declared["features"], default=declared["uses_default_features"]
        )
        for declared in package["dependencies"]
        if declared["kind"] == "build" and declared["name"] in used
    }
    about = {key: package[key] for key in ("name", "version", "edition")}
    head = "".join(f"{key} = {toml(value)}\n" for key, value in about.items())
    crate = Crate(cargo, folder, head, {"build-script-build": source(package)}, needs)
    crate.lay(whole.lock)
    crate.same(whole)
    # What is a warning to everybody who takes this package from elsewhere stays one.
    done = crate.run(
        "check", bound=240.0, RUSTFLAGS="", CARGO_ENCODED_RUSTFLAGS="--cap-lints\x1fwarn"
    )
    if done.code == 0:
        return None
    fault = builds.fault(done.out, done.err, accelerated=False)
    theirs = [each for each in builds.errors(done.out) if each.kind != "bin"]
    if fault.verdict == "failed" and theirs:
        return builds.Fault("failed", f"a crate that it uses does not compile: {theirs[0].line}")
    return fault


def against_stubs(cargo: Cargo, package: dict[str, Any], folder: Path) -> builds.Fault | None:
    """Compile the script with rustc alone.

    Only what is the script's own fault is one, and what the stubs lack decides nothing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    common = [
        "rustc",
        "--edition",
        package["edition"],
        "--cap-lints",
        "warn",
        "--error-format",
        "json",
    ]
    for name in "anyhow", "bindgen_cuda":
        made = [
            "--crate-type",
            "rlib",
            "--emit",
            "metadata",
            "--crate-name",
            name,
            "-o",
            f"lib{name}.rmeta",
            str(STUBS / f"{name}.rs"),
        ]
        if cargo.start([*common, *made], folder, 60.0).code:
            raise Undone(
                "rustc does not compile the stubs of the crates that the build script uses"
            )
    extern = [f"--extern={name}=lib{name}.rmeta" for name in ("anyhow", "bindgen_cuda")]
    script = [
        *extern,
        "--crate-name",
        "build_script_build",
        "--emit",
        "metadata",
        "-o",
        "script.rmeta",
        str(source(package)),
    ]
    done = cargo.start([*common, *script], folder, 60.0)
    if done.code == 0:
        return None
    told = [
        builds.message({"message": each})
        for each in map(builds.parsed, done.err.splitlines())
        if each.get("level") == "error"
    ]
    own = [each for each in told if each.code in ITS_OWN]
    if own:
        print("".join(each.rendered for each in own), flush=True)
        return builds.Fault("failed", own[0].line)
    raise Undone(
        "undecided without the crates that the build script uses: "
        f"{told[0].line if told else 'rustc failed'}"
    )
