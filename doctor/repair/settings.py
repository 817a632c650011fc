"""Find variables of the shell that a failing program's packages read, and write how to unset one.

Those that the failure names come first, by their name or by their value, then those that begin as
the names of the packages in the traceback do. Where files are kept, who the user is, and what keeps
off the network stays as it is.

Some change Python itself, and no message names them: the coding of the output, warnings that become
errors, docstrings that are left out. A path that is gone counts where a file is not found: `ssl`
names no file. https://docs.python.org/3/using/cmdline.html#environment-variables
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from doctor.model.fixes import Command, Step
from doctor.observe.runner.start import CACHES
from doctor.observe.surroundings import NAME
from doctor.repair.failures import Failure

_KEPT = re.compile(
    r"TOKEN|KEY|SECRET|PASSW|CREDENTIAL|PROXY|OFFLINE|_(?:HOME|DIR|CACHE|PATH|ROOT|URL|ENDPOINT)$"
)
_READ = re.compile(r"(?:JAX|XLA|TF|HF|TRANSFORMERS|OMP|MKL|KMP|NUMBA|PYTORCH|TORCH|NCCL|CUDA)_")
_FURTHER = {
    "jax": ("JAX_", "XLA_"),
    "jaxlib": ("JAX_", "XLA_"),
    "tensorflow": ("TF_", "XLA_"),
    "keras": ("KERAS_", "TF_"),
    "torch": ("PYTORCH_", "TORCH_", "TRITON_"),
    "transformers": ("TRANSFORMERS_", "HF_"),
    "huggingface_hub": ("HF_",),
}
"""Beginnings of the variables that a package reads, where they are not its own name.

- https://docs.jax.dev/en/latest/config_options.html
- https://docs.pytorch.org/docs/stable/torch_environment_variables.html
- https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables
"""
_OF_GPUS = (
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_FORCE_PTX_JIT",
    "CUDA_FORCE_JIT",
    "CUDA_DISABLE_PTX_JIT",
    "CUDA_DISABLE_JIT",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF",
    "HIP_VISIBLE_DEVICES",
    "JAX_PLATFORMS",
    "JAX_PLATFORM_NAME",
)
"""What drivers and frameworks read, so that a failure on a GPU names another cause.

https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html
"""
_SPEAKS_OF_GPUS = re.compile(r"\b(?:cuda|gpus?)", re.IGNORECASE)
_OF_BUILDS = (
    "NVCC_APPEND_FLAGS",
    "NVCC_PREPEND_FLAGS",
    "TORCH_CUDA_ARCH_LIST",
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
)
_SPEAKS_OF_BUILDS = re.compile(
    r"\bnvcc\b|ninja: build stopped|Error building extension|CompileError|failed with exit code"
)
_OF_THE_SHELL = re.compile(
    r"^(?:(?:PATH|PWD|OLDPWD|HOME|SHELL|TERM|LANG|USER|LOGNAME|HOSTNAME|TMPDIR|_|VIRTUAL_ENV)$"
    r"|LC_|LD_|DYLD_|PYTHON|CONDA_)"
)
_OF_TOOLS = re.compile(
    r"^(?:PIP|UV|GIT|SSH|XDG|DBUS|DOCTOR|NPM|CI|GITHUB)_|^(?:EDITOR|PAGER|SHLVL)$"
)
_A_PROXY = re.compile(r"(?:https?|all|ftp)_proxy", re.IGNORECASE)
_LOOPBACK = re.compile(r"\blocalhost\b|\b127\.0\.0\.1\b|\[::1\]")
_OF_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASSW|CREDENTIAL|PROXY", re.IGNORECASE)
_A_NAME = re.compile(r"\b[A-Z][A-Z0-9]{0,40}_[A-Z0-9_]{1,60}\b|\b[A-Z]{5,40}\b")
"""A name of several parts, or of one long word."""
_GOES_ON = re.compile(r"[\w./-]")
_MOST, _SHORT = 6, 5
_OF_PYTHON = (
    ("PYTHONIOENCODING", "PYTHONUTF8", "PYTHONCOERCECLOCALE", "PYTHONWARNINGS", "PYTHONDEVMODE"),
    ("PYTHONOPTIMIZE", "PYTHONSAFEPATH", "PYTHONPLATLIBDIR", "PYTHONINTMAXSTRDIGITS"),
    ("PYTHONHASHSEED", "PYTHONMALLOC", "PYTHONLEGACYWINDOWSSTDIO"),
)
EVERY_OF_PYTHON = frozenset(name for names in _OF_PYTHON for name in names)
_LOCALE = ("LC_ALL", "LC_CTYPE", "LANG", "LC_TIME", "LC_NUMERIC", "LANGUAGE")
_ON_LOCALE = re.compile(r"codec can't|Unicode\w{1,10}Error|locale|ascii", re.IGNORECASE)
NOT_FOUND = re.compile(
    r"FileNotFoundError|NotADirectoryError|No such file|(?:does not|doesn't) exist|not found"
    r"|invalid path|could not find|cannot open|can't open",
    re.IGNORECASE,
)
"""How programs say that a file is not there."""
_A_PATH = re.compile(r"(?:^|[\s'\"(=])(?:/|[A-Za-z]:\\)[\w.-]")
_NO_MODULE = re.compile(r"No module named '([\w.]{1,200})'")
_PARTS = re.compile(r"[\s,;|=]+")


def without_settings(
    failure: Failure, env: Mapping[str, str], *, by_value: bool = False
) -> Iterator[tuple[str, tuple[Step, ...]]]:
    """Yield ways to start without one variable that is set: its name, and the steps.

    `by_value`: only those that the message names, or whose value it has, such as the path of a
    compiler that is gone.
    """
    tops = dict.fromkeys(frame.top for frame in reversed(failure.every) if frame.top)
    begins = {one for top in tops for one in _FURTHER.get(top, (f"{top.upper()}_",))}
    if any(top in _FURTHER for top in tops) or _SPEAKS_OF_GPUS.search(failure.chain):
        begins.update(_OF_GPUS)
    if _SPEAKS_OF_BUILDS.search(failure.chain):
        begins.update(_OF_BUILDS)
    if "NCCL" in failure.chain:
        begins.add("NCCL_")
    named = [name for name in NAME.findall(failure.chain) if _READ.match(name)]
    own = sorted(name for name in env if name.startswith(tuple(begins)))
    own = [name for name in own if not _is_there(env[name])]
    told = [*spoken_of(failure, env), *_of_python(failure, env), *_gone(failure, env)]
    kept = [one for one in (*named, *own) if not _KEPT.search(one) and not by_value]
    # A copy has folders of its own for caches, so that their variables change nothing there.
    every = [one for one in dict.fromkeys((*kept, *told)) if env.get(one) and one not in CACHES]
    for name in every[:_MOST]:
        yield name, leaving_out([name])


def spoken_of(failure: Failure, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the variables whose value the last message has, then those that it names.

    Those of the shell stay, and the caches that a copy has of its own. What a message says to set
    is no cause of it.
    """
    named = [one for one in _A_NAME.findall(failure.error) if env.get(one)]
    named = [
        one
        for one in named
        if not (_OF_THE_SHELL.match(one) and one not in EVERY_OF_PYTHON) and not _SECRET.search(one)
    ]
    told = [one for one in sorted(env) if env[one] and _says(failure, one, env[one])]
    return tuple(one for one in dict.fromkeys((*told, *named)) if one not in CACHES)


def without_proxies(
    failure: Failure, env: Mapping[str, str]
) -> Iterator[tuple[str, tuple[Step, ...]]]:
    """Yield ways around a proxy that a failure speaks of: for this machine alone, then for all.

    Programs read either case: https://requests.readthedocs.io/en/latest/user/advanced/#proxies
    """
    given = sorted(name for name in env if env[name] and _A_PROXY.fullmatch(name))
    parts = [urlsplit(env[name] if "//" in env[name] else f"//{env[name]}") for name in given]
    hosts = {one.hostname for one in parts if one.hostname}
    text = failure.chain.lower()
    if not given or not ("proxy" in text or any(_holds(text, one) for one in hosts)):
        return
    if _LOOPBACK.search(text):
        own = [env.get(name, "") for name in ("NO_PROXY", "no_proxy")]
        own = [part.strip() for one in own for part in one.split(",") if part.strip()]
        listed = ",".join(dict.fromkeys((*own, *_OF_THIS_MACHINE)))
        title = "Let what runs on this machine go past the proxy"
        command = Command(argv=(), env={"NO_PROXY": listed, "no_proxy": listed})
        yield "NO_PROXY for this machine", (Step(title=title, command=command),)
    yield f"{', '.join(given)} unset", leaving_out(given)


def suspected(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the variables that may change what a program does, whatever its failure says.

    Those of the shell, secrets, what keeps off the network, and paths of what is there stay. So do
    the caches that a copy has of its own: they were other folders when the program failed.
    """
    return tuple(
        name
        for name in sorted(env)
        if env[name]
        and name not in CACHES
        and not (_OF_THE_SHELL.match(name) and name not in EVERY_OF_PYTHON)
        and not (_SECRET.search(name) or "OFFLINE" in name or _OF_TOOLS.match(name))
        and not _is_there(env[name])
    )


def leaving_out(names: Iterable[str]) -> tuple[Step, ...]:
    """Return the steps that unset variables."""
    where = "Where the shell, the job or the image sets"
    return tuple(
        Step(title=f"{where} {name}, leave it out", command=Command(argv=("unset", name)))
        for name in names
    )


def _of_python(failure: Failure, env: Mapping[str, str]) -> Iterator[str]:
    """Yield the variables that change Python itself, and those of the locale where it matters."""
    yield from (name for names in _OF_PYTHON for name in names if env.get(name))
    if _ON_LOCALE.search(failure.error):
        yield from (name for name in _LOCALE if env.get(name))


def _gone(failure: Failure, env: Mapping[str, str]) -> Iterator[str]:
    """Yield the variables with a path that is not there, where a file is not found.

    A message that names another file speaks of that one.
    """
    text = failure.error
    if NOT_FOUND.search(text):
        for name, value in sorted(env.items()):
            apart = _OF_THE_SHELL.match(name) or _SECRET.search(name)
            may_be = not _A_PATH.search(text) or f"{value.rstrip('/')}/" in text
            if may_be and not apart and Path(value).is_absolute() and not _is_there(value):
                yield name


def _is_there(value: str) -> bool:
    """Say whether a value is the path of something that is there: of the program, or of a cache."""
    try:
        return Path(value).is_absolute() and Path(value).exists()
    except (OSError, ValueError):
        return False


def _says(failure: Failure, name: str, value: str) -> bool:
    """Say whether a failure speaks of the value of a variable: a word, or a path that is gone."""
    if _OF_THE_SHELL.match(name) or _is_there(value):
        return False
    # A path that is gone is no secret: SSLKEYLOGFILE, a file of credentials.
    if _SECRET.search(name):
        return value.startswith("/") and _holds(failure.error, value)
    missing = _NO_MODULE.search(failure.error)
    if missing and re.match(rf"{re.escape(missing[1])}(?:[.:]|$)", value):
        return True
    return any(_holds(failure.error, one) for one in dict.fromkeys((value, *_PARTS.split(value))))


def _holds(text: str, word: str) -> bool:
    """Say whether a text has a word that is long enough to tell something."""
    before, found, after = text.partition(word) if len(word) >= _SHORT else ("", "", "")
    return bool(found) and not (_GOES_ON.match(before[-1:]) or _GOES_ON.match(after[:1]))
