"""Explain jobs without a GPU, folders that cannot be written, and networks that lead nowhere.

| event | what is said of it |
| --- | --- |
| no-gpu-asked-for | Slurm's word for a job without GPUs |
| data-not-reached | the address, and offline mode |
| cache-not-writable | the folder, and the variable for another one |
| gpu-unknown-to-tensorrt | the release of TensorRT that knows the GPU |
| cudarc-library-missing | the library, and how its file is called |
| checkout-missing | the folder that was not cloned |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.findings import explanation
from doctor.analyzers.recipes import LINUX, WINDOWS, code, command, variables
from doctor.analyzers.texts import Text, explained
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Severity


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what the surroundings of a program refuse it."""
    for one in explained(case, _TABLE):
        if one.event.kind != "pip-missing" or not _is_of_a_build(case, one.event):
            yield one
    for event in list(case.of("unix-line-on-windows"))[:1]:
        yield _unix_line(case, event)


def _is_of_a_build(case: Case, event: Event) -> bool:
    """Say whether the message is of an isolated build, whose environment has no pip."""
    near = case.log.lines[max(0, event.at - _BUILD_LINES) : event.at + _BUILD_LINES]
    return any("pip-build-env-" in line[:1000] for line in near)


_BUILD_LINES = 40


_OFFLINE = variables(
    "Use what is in the cache",
    {"HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1"},
    use_if=("the data was loaded once on this machine, or where its cache is shared",),
    note="datasets before 1.1.3 has no offline mode: update it first.",
)


def _unix_line(case: Case, event: Event) -> Explanation:
    """Explain a variable before a command, which only Unix shells know."""
    name = next(value for value in event.objects.values() if value)
    given = re.compile(rf"{name}=(?:\"([^\"]{{1,300}})\"|'([^']{{1,300}})'|(\S{{1,300}}))")
    lines = case.log.lines[max(0, event.at - _ABOVE) : event.at + 1]
    found = next((one for line in lines if (one := given.search(line[:2000]))), None)
    value = next(filter(None, found.groups())) if found else ""
    return explanation(
        event,
        f"The line is written for a Unix shell: {name} is a variable, and Windows took it for a "
        "program",
        "NAME=value before a command is a form of Unix shells. In Windows the variable is set by a "
        "line of its own.",
        (
            Recipe(
                title="Set the variable first, then run the rest of the line in the same window",
                steps=(Action(env={name: value or "<value>"}),),
                ask={} if value else {"value": "what stood behind the equals sign"},
            ),
        ),
    )


_ABOVE = 4
"""Lines above the message in which the command stands."""
_TABLE: dict[str, Text] = {
    "pip-missing": Text(
        "{python} has no pip",
        "The environment was made without pip: by uv, by a Python whose ensurepip is missing "
        "(Debian and Ubuntu keep it in python3-venv), or its making was broken off.",
        (
            Recipe(
                title="Put pip into this Python",
                steps=(Action(run=("{log.python}", "-m", "ensurepip", "--upgrade")),),
                note="If ensurepip is missing too: sudo apt-get install python3-venv, remove the "
                "folder of the environment, and have it made anew.",
            ),
            Recipe(
                title="Install with uv, which needs no pip in the environment",
                use_if=("uv made the environment",),
                steps=(
                    Action(
                        run=("uv", "pip", "install", "--python", "{log.python}", "<package>"),
                    ),
                ),
                ask={"package": "what was to be installed"},
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "no-gpu-asked-for": Text(
        "Slurm gave this job no GPU: CUDA_VISIBLE_DEVICES is NoDevFiles",
        "Slurm sets this word where a job asks for no GPU (no --gres). The program takes it for "
        "the number of a GPU and fails. Driver and installation play no part.",
        (
            code(
                "Ask for a GPU",
                "the job script",
                "#SBATCH --gres=gpu:1",
                use_if=("the program is to compute on a GPU",),
            ),
            variables(
                "Empty the variable for a job that computes on the processor",
                {"CUDA_VISIBLE_DEVICES": ""},
                use_if=("the program needs no GPU",),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "data-not-reached": Text(
        ("This machine does not reach {url}", "This machine does not reach the Hub: {name}"),
        "It has no way out to that server: compute nodes of clusters often have none, others only "
        "by a proxy. Older releases of datasets ask for it even where the data is in local files.",
        (
            _OFFLINE,
            code(
                "Load files that lie on this machine",
                "the call that loads the data",
                'load_dataset("text", data_files="/data/train.txt")',
                before="load_dataset(name)",
                note="Fetch the files on a node that reaches the network, into a folder that both "
                "see.",
            ),
            Recipe(
                title="Go through the proxy of the network",
                use_if=("the network has a proxy",),
                steps=(Action(env={"HTTPS_PROXY": "<proxy>"}),),
                ask={"proxy": "the address of the proxy, such as http://proxy.example.com:3128"},
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "cache-not-writable": Text(
        "The cache of the Hub cannot be written: {path}",
        "The user of this process may not make the folder. A path that begins with /.cache means "
        "that the user has no home folder, as in many containers.",
        (
            Recipe(
                title="Put the cache into a folder that this user may write",
                steps=(Action(env={"HF_HOME": "<folder>"}),),
                ask={"folder": "a folder of this user, such as one on a mounted volume"},
                note="Releases before 4.22 of transformers read TRANSFORMERS_CACHE instead.",
            ),
        ),
        severity=Severity.WARNING,
        precision=Precision.EXACT,
    ),
    "gpu-unknown-to-tensorrt": Text(
        "This TensorRT is older than the GPU: it knows compute capabilities below {below} only",
        "TensorRT reads the capability of the GPU and finds a major number of {below} or more, "
        "which the release does not know. Blackwell GPUs (10.0 and 12.0) need TensorRT 10.8 with "
        "CUDA 12.8. Warnings about INT64 and TF32 have no part in it.",
        (
            Recipe(
                title="Install a TensorRT that knows the GPU",
                use_if=("TensorRT comes from pip",),
                steps=(Action(install=("tensorrt-cu12>=10.8",), options=(Option.HOLD_TORCH,)),),
                note="A program in C++ is compiled and linked against the new release. Engines of "
                "the old one have to be built anew.",
            ),
            command(
                "See the capability of the GPU",
                "nvidia-smi",
                "--query-gpu=name,compute_cap",
                "--format=csv",
                look=True,
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
        contradicts=("tensorrt/engine-of-another-release",),
    ),
    "cudarc-library-missing": Text(
        "The Rust program does not find the CUDA library {library}",
        "It opens the library by a list of file names that its release of cudarc knows, and none "
        "of them is on the search path. The library belongs to the CUDA toolkit, not to the "
        "driver. CUDA 13 has new numbers in these names (cufft64_12.dll, cublas64_13.dll), so that "
        "an older cudarc asks for names that do not exist.",
        (
            command(
                "See whether the file is on PATH",
                "where.exe",
                "{log.library}64_*.dll",
                use_if=(WINDOWS,),
                look=True,
                note="Its folder belongs there: bin of the toolkit, bin\\x64 from CUDA 13 on. "
                "Windows reads PATH and no LD_LIBRARY_PATH. Where the file is there under another "
                "number, take a newer release of the program, or the CUDA release that it was made "
                "for. Do not rename the file.",
            ),
            command(
                "See whether the loader knows the library",
                "sh",
                "-c",
                "ldconfig -p | grep -E 'lib(cu|nv)'",
                use_if=(LINUX,),
                look=True,
                note="Where it is missing, install the CUDA toolkit of the release that the "
                "program was made for, or put its lib64 into LD_LIBRARY_PATH. Where it is there "
                "under another number, take a newer release of the program.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "checkout-missing": Text(
        "The web UI lacks a repository that it clones at its first start: {places}",
        "The folder below repositories is empty or missing, since the clone at the first start "
        "broke off or git was not found. Python and torch have no part in it.",
        (
            command(
                "Let the web UI clone again: see that git answers, then start it without "
                "--skip-install",
                "git",
                "--version",
                note="Where the folder of that name below repositories exists and is empty, remove "
                "it first. The web UI clones what is missing when it starts.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
}
