"""Explain what stops a build of Rust before its own sources do.

| event | what is said of it |
| --- | --- |
| rust-release | which release is needed, which one is here, `rustup update` |
| rust-target-missing | `rustup target add` |
| libclang-missing | bindgen needs libclang |
| system-package-missing | a C library for developers, by its name |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.machine import system_of
from doctor.analyzers.recipes import by_system
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe

_FEATURES = {"edition2021": "1.56", "edition2024": "1.85", "let_chains": "1.88"}
_LOCKS = {"3": "1.53", "4": "1.78"}
_APT = {
    "openssl": ("libssl-dev", "pkg-config"),
    "libssl": ("libssl-dev", "pkg-config"),
    "alsa": ("libasound2-dev", "pkg-config"),
    "dbus-1": ("libdbus-1-dev", "pkg-config"),
    "libudev": ("libudev-dev", "pkg-config"),
    "fontconfig": ("libfontconfig1-dev", "pkg-config"),
    "freetype2": ("libfreetype-dev", "pkg-config"),
    "sqlite3": ("libsqlite3-dev", "pkg-config"),
    "opus": ("libopus-dev", "pkg-config"),
    "glib-2.0": ("libglib2.0-dev", "pkg-config"),
    "zlib": ("zlib1g-dev", "pkg-config"),
}
_UPDATE = (
    Recipe(
        title="Update Rust",
        use_if=("Rust comes from rustup",),
        note="A file rust-toolchain.toml in the project decides before the default.",
        steps=(Action(run=("rustup", "update", "stable")),),
    ),
)
_TARGET = re.compile(r"the `([\w-]{3,60})` target may not be installed")


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of the first event of each kind."""
    done: set[str] = set()
    for event in case.of(
        "rust-release", "rust-target-missing", "libclang-missing", "system-package-missing"
    ):
        if event.kind in done:
            continue
        done.add(event.kind)
        if event.kind == "rust-release":
            yield _release(event)
        elif event.kind == "rust-target-missing":
            yield _target(case, event)
        elif event.kind == "libclang-missing":
            yield _libclang(case, event)
        else:
            yield _system(case, event)


def _release(event: Event) -> Explanation:
    objects = event.objects
    running = objects.get("running", "")
    feature = objects.get("feature") or (
        f"edition{objects['edition']}" if "edition" in objects else ""
    )
    lock = objects.get("lock", "")
    wanted = objects.get("wanted") or _FEATURES.get(feature, "") or _LOCKS.get(lock, "")
    what = (
        objects.get("package")
        or (f"Cargo.lock of version {lock}" if lock else "")
        or (f"A crate with the feature {feature}" if feature else "A crate")
    )
    needs = f"Rust {wanted} or newer" if wanted else "a newer Rust"
    return Explanation(
        event=event,
        precision=Precision.EXACT if wanted else Precision.FAMILY,
        detection=detection(
            event,
            f"{what} needs {needs}" + (f", and {running} is here" if running else ""),
            "Crates raise the Rust release that they need over time. Rust from a distribution is "
            "mostly older than rustup's, and the first cargo on PATH counts.",
            recipes=_UPDATE,
            name="rust-too-old",
            captures={"wanted": wanted} if wanted else {},
        ),
    )


def _target(case: Case, event: Event) -> Explanation:
    text = "\n".join(case.log.lines[event.at : event.at + 6])
    found = _TARGET.search(text)
    target = found[1] if found else ""
    return Explanation(
        event=event,
        precision=Precision.EXACT if target else Precision.FAMILY,
        detection=detection(
            event,
            f"Rust's standard library for {target or 'this target'} is not installed",
            "Each target of the compiler needs its own standard library. cargo was asked for "
            "another target than the machine's own, or the toolchain is not whole.",
            recipes=(
                Recipe(
                    title="Add the target to the toolchain",
                    use_if=("Rust comes from rustup",),
                    steps=(Action(run=("rustup", "target", "add", target or "<target>")),),
                    ask={} if target else {"target": "the target that the message names"},
                ),
            ),
            name="rust-target-missing",
        ),
    )


def _libclang(case: Case, event: Event) -> Explanation:
    windows = system_of(case, event) == "windows"
    recipes = (
        Recipe(
            title="Install LLVM, which has libclang.dll",
            steps=(Action(run=("winget", "install", "--exact", "--id", "LLVM.LLVM")),),
            note="Then set LIBCLANG_PATH to its folder bin, if it is not found.",
        )
        if windows
        else by_system(
            "Install libclang with the system's package manager",
            apt=("libclang-dev",),
            dnf=("clang-devel",),
        ),
        Recipe(
            title="Name the folder of libclang",
            use_if=("it is installed elsewhere",),
            steps=(Action(env={"LIBCLANG_PATH": "<folder>"}),),
            ask={"folder": "the folder with libclang.so, libclang.dylib or libclang.dll"},
        ),
    )
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            "bindgen does not find libclang, with which it reads C headers",
            "A crate makes its bindings to a C library while it is built, and needs clang's "
            "library for that. A compiler alone (gcc, Visual C++) does not bring it.",
            recipes=recipes,
            name="libclang-missing",
        ),
    )


def _system(case: Case, event: Event) -> Explanation:
    name = event.objects.get("library", "").lower()
    crate = event.objects.get("package", "")
    apt = _APT.get(name, ())
    asker = f" for the crate {crate}" if crate else ""
    linux = system_of(case, event) in ("linux", "")
    return Explanation(
        event=event,
        precision=Precision.EXACT if apt else Precision.FAMILY,
        detection=detection(
            event,
            f"The C library {name} is not found{asker}",
            "The crate links a library of the system and asks pkg-config for it. The package for "
            "developers, with headers and a .pc file, is not installed, or PKG_CONFIG_PATH does "
            "not lead to it.",
            recipes=(by_system(f"Install {apt[0]}", apt=apt),) if apt and linux else (),
            name="system-package-missing",
            captures={"library": name},
        ),
    )
