"""Libraries that are there, and that a loader refuses (dlopen(3), dyld(1))."""

from __future__ import annotations

import re
from typing import NamedTuple

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.inventory import package_of
from doctor.analyzers.machine import system_of
from doctor.analyzers.recipes import LINUX, command
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe, Snippet
from doctor.timelines import names
from doctor.timelines.libraries import library


class _Reason(NamedTuple):
    """One reason: words of the message, the title after the file's name, the cause, the fixes."""

    words: str
    title: str
    cause: str
    recipes: tuple[Recipe, ...] = ()


_FRESH = (Option.REINSTALL, Option.NO_CACHE, Option.NO_DEPS)
_AGAIN = Recipe(
    title="Install the package of the file again",
    steps=(Action(install=("<package>",), options=_FRESH),),
    ask={"package": "the package of the file, with its release: name==release"},
)
_FROM_HOST = re.compile(
    r"lib(?:cuda|nvidia-[a-z]{2,20}|nvcuvid|nvoptix|nvinfer\w{0,20}|nvparsers|cudnn\w{0,20}|nvdla\w{0,20})"
    r"\.so"
)
"""Libraries that the container toolkit mounts from the host: the driver's, on Jetson JetPack's."""
_MOUNTED = (
    command(
        "Start the container with the GPU, so that the host's library is mounted over it",
        *("docker", "run", "--rm", "--runtime", "nvidia", "--gpus", "all", "<image>"),
        ask={"image": "the image of the program"},
        use_if=("the program runs in a container",),
        note="The image holds an empty file in its place. On a Jetson the image has to be of the "
        "JetPack (L4T) release of the board. In docker compose, write runtime: nvidia.",
    ),
    command(
        "See which of the driver's files are empty outside a container",
        *("find", "/usr/lib", "-name", "lib*.so.*", "-size", "0"),
        use_if=(LINUX, "it is the machine itself"),
        look=True,
        note="Install the package of such a file again.",
    ),
)
_REASONS = (
    _Reason(
        "file too short",
        "is empty or cut off",
        "The file has fewer bytes than a library begins with: a download or a copy broke off, the "
        "disk was full, or it is a placeholder. In a container without the NVIDIA Container "
        "Toolkit, the driver's libraries are such empty files: start it with GPUs.",
    ),
    _Reason(
        "invalid ELF header",
        "is no library of Linux",
        "The file begins with something else than a library: a text that the linker reads "
        "(libc.so), a pointer of Git LFS, an archive, or a file for Windows or macOS.",
    ),
    _Reason(
        "wrong ELF class",
        "is built for 32 bits, or this Python is",
        "The number behind ELFCLASS is that of the file. A search path leads to the libraries of "
        "the other word size (lib against lib64).",
    ),
    _Reason(
        "executable stack",
        "asks for an executable stack, which this system refuses",
        "The library was linked with a flag for an executable stack. Kernels of hardened systems, "
        "SELinux, and glibc from 2.41 on refuse to load such a file. A newer release of it is "
        "built without the flag.",
        (
            Recipe(
                title="Remove the flag from the file",
                use_if=("no newer release of the package is there",),
                steps=(Action(run=("patchelf", "--clear-execstack", "<file>")),),
                ask={"file": "the library that the message names"},
                lasting=False,
                safe=False,
            ),
        ),
    ),
    _Reason(
        "Operation not permitted",
        "lies in a folder that allows no programs",
        "The file system is mounted with noexec, so the loader cannot map code from it: often "
        "/tmp, or a network folder.",
        (
            Recipe(
                title="Use another folder for temporary files",
                use_if=("the file lies below TMPDIR or /tmp",),
                steps=(Action(env={"TMPDIR": "<folder>"}),),
                ask={"folder": "a folder on a disk without noexec, such as ~/tmp"},
            ),
        ),
    ),
    _Reason(
        "object: Cannot allocate",
        "does not fit into the memory that this process may use",
        "The loader got no memory to map the library: `ulimit -v`, the limit of a container or of "
        "a job, or a machine without free memory. torch's CUDA libraries need several GiB of "
        "address space.",
    ),
    _Reason(
        "failed to map segment",
        "cannot be mapped",
        "Either the file system is mounted with noexec, or the process may not use more memory "
        "(`ulimit -v`, the limit of a job).",
    ),
    _Reason(
        "static TLS block",
        "needs static thread-local storage, and none is left",
        "Libraries that are loaded late share a small reserve of thread-local storage (TLS), and "
        "it is used up. If this library is loaded first, before the others, it has room.",
        (
            Recipe(
                title="Load this library first",
                steps=(Action(env={"LD_PRELOAD": "<file>"}),),
                ask={"file": "the full path of the library that the message names"},
                lasting=False,
            ),
            Recipe(
                title="Import the package that fails before torch and the others",
                snippet=Snippet(
                    where="the beginning of the program",
                    before="import torch\nimport <package>",
                    after="import <package>\nimport torch",
                ),
                ask={"package": "the package whose import fails"},
            ),
        ),
    ),
    _Reason(
        "Permission denied",
        "may not be read by this user",
        "The file, or a folder above it, has no right to read for the user that runs the program. "
        "Mostly it was installed by root, or with a strict umask.",
    ),
    _Reason(
        "Too many open files",
        "cannot be opened: the process has too many open files",
        "The limit of open files (`ulimit -n`) is reached. Loaders of data with many workers reach "
        "1024 quickly.",
    ),
    _Reason(
        "OS ABI",
        "is built for another system, or for a newer loader",
        "The header of the file names an ABI that this loader does not know.",
    ),
    _Reason(
        "ET_DYN",
        "is no shared library but a program or an object",
        "The file has another type than a library. The build made something else of it.",
    ),
    _Reason(
        "load command",
        "is damaged or cut off",
        "Its headers speak of more than the file has: a copy that broke off, or a tool that "
        "changed the file.",
        (_AGAIN,),
    ),
    _Reason(
        "code signature",
        "has a signature that macOS refuses",
        "macOS loads a library only with a valid signature. The file was changed after it was "
        "signed, or it is of another team than the program, which is hardened.",
        (
            Recipe(
                title="Sign the file anew on this machine",
                use_if=("the file comes from a source that you trust",),
                steps=(Action(run=("codesign", "--force", "--sign", "-", "<file>")),),
                ask={"file": "the library that the message names"},
            ),
        ),
    ),
    _Reason(
        "Application Control policy",
        "is blocked by a policy of this Windows",
        "Smart App Control, or a policy of the organisation, refuses the file, which has no known "
        "signature. Nothing in Python can change that.",
    ),
    _Reason(
        "denied",
        "may not be loaded by this user",
        "Windows refuses the access: the rights of the file, a program that protects against "
        "malware, or a file that another process replaces.",
    ),
)


def unusable(case: Case, event: Event) -> Explanation | None:
    """Explain a library that a loader found and did not take."""
    if event.kind == "wrong-architecture":
        return _architecture(case, event)
    why = event.objects.get("why", "")
    reason = next((one for one in _REASONS if one.words.lower() in why.lower()), None)
    if reason is None:
        return None
    from_host = reason.words == "file too short" and _FROM_HOST.search(event.text)
    path = event.objects.get("file", "") or event.objects.get("module", "") or "A library"
    name = path.replace("\\", "/").rpartition("/")[2]
    known = library(name)
    what = f" ({known.what})" if known is not None else ""
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{name}{what} {reason.title}",
            reason.cause,
            recipes=_MOUNTED if from_host else reason.recipes,
            name="library-unusable",
        ),
    )


def _architecture(case: Case, event: Event) -> Explanation:
    have, need = event.objects.get("have", ""), event.objects.get("need", "")
    name = (event.objects.get("file", "") or event.objects.get("module", "")).replace("\\", "/")
    name = name.rpartition("/")[2] or "A library"
    if have and need:
        return _on_macos(event, name, have, need)
    if system_of(case, event) == "windows" or "193" in event.text or "Win32" in event.text:
        return _on_windows(event, name)
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"{name} is built for another processor than this Python",
            "A process loads only libraries of its own processor: arm64 for Apple silicon, x86_64 "
            "for Intel and under Rosetta.",
            recipes=_other_wheel(event),
            name="wrong-architecture",
        ),
    )


def _other_wheel(event: Event) -> tuple[Recipe, ...]:
    """Return what helps where a wheel holds a library for another processor than its name says."""
    package = package_of(event.text.partition(".so")[0].strip())
    known = names.distribution_of(package or "") or "<package>"
    ask = {} if known != "<package>" else {"package": "the package of the file"}
    return (
        Recipe(
            title="Install the package again with this Python, without pip's cache",
            use_if=("it was installed by another Python, or copied",),
            steps=(Action(install=(known,), options=_FRESH),),
            ask=ask,
        ),
        Recipe(
            title="Take another release of the package, or build it from its sources",
            use_if=("the fresh wheel has the same fault: its name promises both processors",),
            steps=(Action(install=(known,), options=(*_FRESH, Option.NO_BINARY)),),
            ask=ask,
        ),
    )


def _on_macos(event: Event, name: str, have: str, need: str) -> Explanation:
    rosetta = need.startswith("x86")
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{name} is built for {have}, and this Python runs as {need}",
            "A process loads only libraries of its own processor. "
            + (
                "This Python is one for Intel and runs under Rosetta; the file is for Apple "
                "silicon. "
                if rosetta
                else "The file was installed by a Python or a Homebrew for Intel (Rosetta), or "
                "its package has no build for Apple silicon. "
            )
            + '`python -c "import platform; print(platform.machine())"` shows what Python is.',
            recipes=(
                Recipe(
                    title="Install the package again with this Python, without pip's cache",
                    use_if=(f"the package has wheels for {need}",),
                    steps=(Action(install=("<package>",), options=_FRESH),),
                    ask={"package": "the package of the file, with its release: name==release"},
                ),
            ),
            name="wrong-architecture",
        ),
    )


def _on_windows(event: Event, name: str) -> Explanation:
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"{name} is no 64-bit library of Windows, or this Python is a 32-bit one (error 193)",
            "Windows refuses a file that is built for another processor, that is cut off, or "
            "that is no library at all. A 32-bit Python on a 64-bit Windows is the usual "
            "cause; a broken download is another.",
            recipes=(
                *_fresh_copy(event),
                Recipe(
                    title="See whether this Python has 64 bits",
                    steps=(
                        Action(
                            run=(
                                "{python.executable}",
                                "-c",
                                "import struct; print(struct.calcsize('P') * 8)",
                            )
                        ),
                    ),
                    lasting=False,
                ),
            ),
            name="wrong-architecture",
        ),
    )


def _fresh_copy(event: Event) -> tuple[Recipe, ...]:
    """Return the recipe that fetches the package of a file anew, where its path names one."""
    package = package_of(event.objects.get("file", ""))
    distribution = names.distribution_of(package) if package else None
    if distribution is None:
        return ()
    return (
        Recipe(
            title=f"Install {distribution} again, without pip's cache",
            use_if=("this Python has 64 bits",),
            note="Name the release that was there, with its build (1.13.1+cu117), and add the "
            "--index-url or -f that it came from. If the error stays, a file that it needs comes "
            "from another folder on PATH.",
            steps=(Action(install=(f"{distribution}==<release>",), options=_FRESH),),
            ask={"release": f"the release of {distribution} that was installed"},
        ),
    )
