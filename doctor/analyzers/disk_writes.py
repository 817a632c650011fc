"""Explain disks, folders and hashes that refuse what is installed.

| event | what is told |
| --- | --- |
| hashes do not match | a damaged cache or a changed file |
| no space, quota | which folder, and where caches go |
| no permission, file in use, path too long | the folder, and what holds it |
| git cannot fetch | its own words, and what they mean |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.recipes import UNIX, WINDOWS, fitting
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe, Snippet
from doctor.model.scales import Severity


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of the first refusal of each kind."""
    no_disk = any(True for _ in case.of("shared-memory", "inotify", "nccl-shared-memory"))
    for kind, function in _WRITES.items():
        if kind == "disk-full" and no_disk:
            continue  # what ran out there is reported by the error of a full disk
        events = list(case.of(kind))
        # pip's own hint says more than the path that it could not make.
        hints = [one for one in events if "Long Path" in one.text]
        event = next(iter(hints or events), None)
        if event is not None:
            yield function(case, event)


def _hash(case: Case, event: Event) -> Explanation:
    del case
    return explanation(
        event,
        "A downloaded file is not the one whose hash is expected",
        "The download was cut off or changed on its way, the cache holds a damaged copy, or the "
        "file was published anew after the hash was written down. If a fresh download has the "
        "same hash again, find out why before you change the list.",
        (
            Recipe(
                title="Empty the cache, then install again",
                use_if=("pip was installing",),
                steps=(Action(run=("{python.executable}", "-m", "pip", "cache", "purge")),),
            ),
            Recipe(
                title="Empty uv's cache of the package, then install again",
                use_if=("uv was installing",),
                steps=(Action(run=("uv", "cache", "clean", "<package>")),),
                ask={"package": "the package whose hash does not match"},
            ),
        ),
    )


def _full(case: Case, event: Event) -> Explanation:
    path = event.objects.get("path", "")
    near = " ".join(case.log.lines[max(event.at - 60, 0) : event.at + 3])
    where = f" that holds {path}" if path else ""
    recipes = [
        Recipe(
            title="See which disk is full",
            use_if=(UNIX,),
            steps=(Action(run=("df", "-h")), Action(run=("df", "-i"))),
            note="A disk is also full when it has no inodes left.",
            lasting=False,
        )
    ]
    recipes += _other_folders(near)
    if re.search(r"\bshm\b|shared memory|shm_open|torch_\d+_\d+", near):
        recipes.insert(
            0,
            Recipe(
                title="Give the container more shared memory",
                use_if=("it runs in a container",),
                snippet=Snippet(
                    where="the command that starts it", after="docker run --shm-size=8g …"
                ),
            ),
        )
    if "docker" in path or re.search(r"\bdocker\b|GetImageBlob|containerd", near):
        recipes.insert(
            0,
            Recipe(
                title="See what Docker's images and containers take, then remove images without a "
                "name",
                steps=(
                    Action(run=("docker", "system", "df")),
                    Action(run=("docker", "image", "prune")),
                ),
                note="It asks before it removes. Where the disk itself is too small for the image, "
                "enlarge it, or move Docker's folder: data-root in /etc/docker/daemon.json.",
            ),
        )
    return explanation(
        event,
        f"The disk{where} is full, or its quota is used up",
        "What was being written is not whole: remove it and install or download it again once "
        "there is room.",
        fitting(case, recipes),
    )


def _other_folders(near: str) -> Iterator[Recipe]:
    """Yield how pip and the hub's clients write to another disk, by the words around."""
    if re.search(r"\bpip\b|Collecting |\.whl", near):
        yield (
            Recipe(
                title="Let pip unpack on a disk with room",
                steps=(Action(env={"TMPDIR": "<folder>", "PIP_CACHE_DIR": "<folder>"}),),
                ask={"folder": "a folder on a disk with some 20 GB of room"},
                note="pip unpacks wheels in TMPDIR, /tmp where it is not set.",
            )
        )
    if re.search(r"huggingface|safetensors|\bhf_|hub/models--", near):
        yield (
            Recipe(
                title="Keep models on a disk with room",
                steps=(Action(env={"HF_HOME": "<folder>"}),),
                ask={"folder": "a folder on a disk with room for the models"},
            )
        )


def _denied(case: Case, event: Event) -> Explanation:
    path = event.objects.get("path", "")
    read_only = "Read-only" in event.text
    recipes = [
        Recipe(
            title="Install into an environment of your own",
            steps=(Action(run=("uv", "venv", ".venv")),),
            use_if=("it is a package that was to be installed",),
            note="Activate it, then install there.",
        )
    ]
    if ".cache" in path or "hub" in path or "triton" in path:
        recipes.insert(
            0,
            Recipe(
                title="Put caches where this user may write",
                steps=(
                    Action(
                        env={
                            "HF_HOME": "<folder>/huggingface",
                            "TRITON_CACHE_DIR": "<folder>/triton",
                            "TORCHINDUCTOR_CACHE_DIR": "<folder>/inductor",
                            "XDG_CACHE_HOME": "<folder>",
                        }
                    ),
                ),
                ask={"folder": "a folder that belongs to this user"},
            ),
        )
    del case
    return explanation(
        event,
        f"{path or 'A folder'} lies on a read-only file system"
        if read_only
        else f"This user may not write to {path or 'the folder'}",
        "The folder belongs to the system, to root or to another user. It is no fault of the "
        "package.",
        tuple(recipes),
    )


_OF_SYSTEM = re.compile(
    r"(?i)[a-z]:\\{1,2}(?:python\d{2,3}|program files(?: \(x86\))?|programdata|windows)\\"
)
"""Folders of Windows that only an administrator may change."""


def _locked(case: Case, event: Event) -> Explanation:
    used = "32" in event.text[: event.text.find("]") + 1]
    path = event.objects.get("path", "the file").replace("\\\\", "\\")
    running = Recipe(
        title="See which Python programs still run, and close them",
        use_if=(WINDOWS,),
        steps=(Action(run=("tasklist", "/FI", "IMAGENAME eq python.exe")),),
        lasting=False,
    )
    if not used and _OF_SYSTEM.match(path):
        return _of_system(case, event, path, running)
    return explanation(
        event,
        f"Windows refuses to change {path}: "
        + ("another program has it open" if used else "access is denied"),
        "A running Python, a notebook, the web UI or a virus scanner holds the file. Close all of "
        "them, then install again; folders that begin with ~ in site-packages are what is left of "
        "the broken attempt, and can be removed.",
        (running,),
    )


def _of_system(case: Case, event: Event, path: str, running: Recipe) -> Explanation:
    """Explain a Python that is installed for all users, whose folder this user may not change."""
    listed = any("requirements.txt" in line for line in case.log.lines[:2000])
    what = ("-r", "requirements.txt") if listed else ("<package>",)
    return explanation(
        event,
        f"This user may not change {path}: the Python there belongs to the whole machine",
        "pip installs into the Python of all users, which only an administrator may change. An "
        "environment of your own needs no such right, and keeps projects apart. Folders that begin "
        "with ~ in site-packages are left from attempts that broke off, and can be removed.",
        (
            Recipe(
                title="Make an environment in the folder of the project, and install there",
                use_if=(WINDOWS,),
                steps=(
                    Action(run=("py", "-m", "venv", ".venv")),
                    Action(run=(".venv\\Scripts\\python.exe", "-m", "pip", "install", *what)),
                ),
                ask={} if listed else {"package": "what was to be installed"},
            ),
            Recipe(
                title="Close all programs of Python, and install again from a prompt that was "
                "opened as administrator",
                use_if=(WINDOWS, "it has to be the Python of all users"),
                steps=running.steps,
                lasting=False,
            ),
        ),
        name="no-permission",
    )


def _long(case: Case, event: Event) -> Explanation:
    del case
    return explanation(
        event,
        "A path is longer than the 260 characters that Windows allows",
        "Python says then that the file does not exist. A shorter folder helps at once, C:\\ai for "
        "instance; long paths have to be allowed in Windows, once, by an administrator.",
        (
            Recipe(
                title="Make the environment in a short folder, and install there",
                use_if=(WINDOWS,),
                steps=(Action(run=("py", "-m", "venv", "C:\\venvs\\short")),),
                note="It may stay outside the project's folder: start its "
                "C:\\venvs\\short\\Scripts\\python.exe from there.",
            ),
            Recipe(
                title="Allow long paths, then start Windows again",
                use_if=(WINDOWS, "you may change this machine"),
                steps=(
                    Action(
                        run=(
                            "reg",
                            "add",
                            "HKLM\\SYSTEM\\CurrentControlSet\\Control\\FileSystem",
                            "/v",
                            "LongPathsEnabled",
                            "/t",
                            "REG_DWORD",
                            "/d",
                            "1",
                            "/f",
                        ),
                        sudo=True,
                    ),
                ),
            ),
        ),
    )


def _managed(case: Case, event: Event) -> Explanation:
    del case
    return explanation(
        event,
        "The system manages this Python, and pip does not install into it (PEP 668)",
        "Packages of the system would be overwritten. An environment of one's own has no such "
        "limit.",
        (
            Recipe(
                title="Make an environment, and install into it",
                steps=(
                    Action(run=("{python.executable}", "-m", "venv", ".venv")),
                    Action(run=(".venv/bin/python", "-m", "pip", "install", "<package>")),
                ),
                ask={"package": "what was to be installed"},
                note="Debian and Ubuntu want the package python3-venv for the first command.",
            ),
        ),
    )


def _no_file(case: Case, event: Event) -> Explanation:
    del case
    path = event.objects.get("path", "")
    return explanation(
        event,
        f"There is no file {path} in the folder where pip was started",
        "The command has to be run in the folder of the project, or with the full path.",
        severity=Severity.NOTE,
    )


def _git(case: Case, event: Event) -> Explanation:
    del case
    what = event.objects.get("what", event.text)
    if "could not resolve host" in what.lower():
        cause = "This machine has no network, or no DNS. Nothing was cloned."
    elif re.search(r"authentication failed|could not read username|terminal prompts", what, re.I):
        cause = (
            "The repository is private or does not exist: GitHub asks for an account in both cases."
        )
    elif "remote ref" in what:
        cause = "The branch, the tag or the commit that is asked for is not in the repository."
    elif "not found" in what:
        cause = "The address is wrong, or the repository is private."
    else:
        cause = "The connection broke, or the server refused it. Try again."
    return explanation(
        event, f"git could not fetch a repository: {what[:160]}", cause, (_ASK_THE_SERVER,)
    )


_ASK_THE_SERVER = Recipe(
    title="See whether git reaches the repository, and which branches it has",
    steps=(Action(run=("git", "ls-remote", "<repository>")),),
    ask={"repository": "the address in the message"},
    lasting=False,
)


_WRITES = {
    "git-failed": _git,
    "hash-mismatch": _hash,
    "disk-full": _full,
    "no-permission": _denied,
    "file-locked": _locked,
    "path-too-long": _long,
    "externally-managed": _managed,
    "file-not-there": _no_file,
}
