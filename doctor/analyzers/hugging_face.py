"""Explain what the Hugging Face Hub refuses, and files that are no weights.

| event | what is told |
| --- | --- |
| gated, not found, no such file or revision | the repository; what to do on its page |
| token refused, too many requests, offline, not reached | which of them; no fault of the stack |
| packages of the code of a model | the packages |
| weights that are none, or cut short | a pointer of git-lfs, a page of HTML, half a download |
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import msgspec

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.findings import explanation
from doctor.analyzers.inventory import NAME, distinct
from doctor.analyzers.recipes import code
from doctor.base.patterns import compile_pattern
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Severity
from doctor.timelines import names

_REPOSITORY = (
    r"https://(?:[\w.-]{0,40}\.)?(?:huggingface\.co|hf\.co)/(?:api/)?(?:models/|datasets/|spaces/)?"
    r"(?P<name>[\w.-]{1,96}/[\w.-]{1,96})"
)

_COMPILED = frozenset({"flash_attn", "mamba_ssm", "causal_conv1d", "xformers", "apex"})

_NEAR = 15
_note = partial(explanation, severity=Severity.NOTE)


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of each refusal."""
    for event in distinct(case, *_EXPLAINED):
        if (found := _EXPLAINED[event.kind](case, event)) is not None:
            yield found


def _repository(case: Case, event: Event) -> str:
    """Return the repository that an event is about, `owner/name`."""
    if named := event.objects.get("repository", "").strip().strip("'\"`"):
        return named.split()[-1]
    for line in (event.text, *case.log.lines[max(event.at - 3, 0) : event.at + _NEAR]):
        if match := compile_pattern(_REPOSITORY).search(line[:2000]):
            return match.groups["name"].rstrip(".")
    return ""


def _log_in() -> Recipe:
    return Recipe(
        title="Log in with a token that may read",
        steps=(Action(run=("hf", "auth", "login")),),
        note="Older releases of huggingface_hub call it huggingface-cli login. In a container the "
        "token goes into the variable HF_TOKEN.",
    )


def _gated(case: Case, event: Event) -> Explanation | None:
    repository = _repository(case, event)
    model = f"The model {repository}" if repository else "The model"
    found = _note(
        event,
        f"{model} is for those who accepted its terms",
        "The Hub hands its files out only to accounts that were let in. Nothing is wrong with what "
        "is installed: accept the terms on the page of the model, then log in with a token of that "
        "account.",
        (_log_in(),),
    )
    # The known issue says which right is missing, so that it stands in the place of this note.
    return msgspec.structs.replace(found, precision=Precision.FAMILY)


def _not_found(case: Case, event: Event) -> Explanation | None:
    repository = _repository(case, event)
    local = re.search(r"^(?:\.{0,2}/|[A-Za-z]:\\|~)", repository)
    if local:
        return _note(
            event,
            f"There is no folder {repository} with a model",
            "A path that does not exist is taken for the name of a repository.",
        )
    return _note(
        event,
        f"The Hub has no repository {repository or 'of that name'} that this account may see",
        "The name is misspelled, the repository was removed, or it is private: the Hub answers so "
        "for a private one too. A relative path that does not exist is also taken for such a name.",
        (_log_in(),),
    )


def _no_file(case: Case, event: Event) -> Explanation | None:
    repository = _repository(case, event)
    file = event.objects.get("file", "").strip(" `'")
    return _note(
        event,
        f"{repository or 'The repository'} has no file {file}".rstrip() + ""
        if file
        else f"{repository or 'The repository'} has no such file",
        "The weights are of another format (only safetensors, GGUF or an adapter), lie in a "
        "subfolder, or the download into this folder stopped half-way. Compare with the list of "
        "files on the page of the model.",
    )


def _revision(case: Case, event: Event) -> Explanation | None:
    return _note(
        event,
        f"{_repository(case, event) or 'The repository'} has no such revision",
        "The branch, the tag or the commit that is asked for does not exist there.",
    )


def _token(case: Case, event: Event) -> Explanation | None:
    del case
    unauthorized = "401" in event.text and "whoami" not in event.text
    return _note(
        event,
        "The Hub refuses: the token is wrong or expired, or the model needs one"
        if unauthorized
        else "The Hub refuses the token: it is wrong, expired or was revoked",
        "A wrong token is refused even for models that are open to all. It comes from HF_TOKEN, or "
        "from an earlier login."
        + (" A misspelt name of a model gets the same answer." if unauthorized else ""),
        (
            _log_in(),
            Recipe(
                title="Forget the token",
                use_if=("the model is open to all",),
                steps=(Action(run=("hf", "auth", "logout")),),
            ),
        ),
    )


_PYTHON = ("huggingface_hub", "Traceback", "HTTPError", "python", "Python")
"""What only the log of a program in Python shows, which reads the token of a login."""


def _busy(case: Case, event: Event) -> Explanation | None:
    return _note(
        event,
        "The Hub refuses: there were too many requests from this address or account",
        "It lets one in again after some minutes: wait, or download from another network. With a "
        "token the limits are higher, and one download that all processes share needs fewer "
        "requests.",
        (
            _log_in()
            if any(word in line for line in case.log.lines for word in _PYTHON)
            else Recipe(
                title="Wait some minutes, or download the file yourself",
                steps=(Action(run=("curl", "-L", "-O", "<url>")),),
                ask={"url": "the address in the message"},
                note="A browser does as well.",
            ),
        ),
    )


def _offline(case: Case, event: Event) -> Explanation | None:
    del case
    return _note(
        event,
        "The Hub is switched off here (offline), and the file is not in the cache",
        "HF_HUB_OFFLINE, TRANSFORMERS_OFFLINE or local_files_only is set, so that only what was "
        "downloaded before is there, in the cache that HF_HOME names.",
        (
            Recipe(
                title="Download it once, where there is a network",
                steps=(
                    Action(run=("hf", "download", "<repository>"), env={"HF_HUB_OFFLINE": "0"}),
                ),
                ask={"repository": "the name of the model on the Hub, as owner/name"},
            ),
        ),
    )


def _unreached(case: Case, event: Event) -> Explanation | None:
    near = " ".join(case.log.lines[max(event.at - 4, 0) : event.at + 4])
    resolved = "name resolution" in near or "getaddrinfo" in near or "not known" in near
    return _note(
        event,
        "huggingface.co is not reached from here"
        + (": its name is not resolved" if resolved else ""),
        "This machine has no network, or reaches the Hub only by a proxy or a mirror, and the file "
        "is not in the cache. Nothing is wrong with what is installed.",
        (
            Recipe(
                title="Ask a mirror",
                use_if=("a mirror is reached from here, as in China",),
                steps=(Action(env={"HF_ENDPOINT": "<mirror>"}),),
                ask={"mirror": "the address of the mirror"},
            ),
            Recipe(
                title="Use what is in the cache",
                use_if=("the model was downloaded on this machine before",),
                steps=(Action(env={"HF_HUB_OFFLINE": "1"}),),
            ),
        ),
    )


def _name(case: Case, event: Event) -> Explanation | None:
    del case
    path = event.objects["repository"]
    download = Recipe(
        title="Download the model into that folder",
        use_if=("the current folder is the program's",),
        steps=(Action(run=("hf", "download", "<repository>", "--local-dir", path)),),
        ask={"repository": "the model's name on the Hub, as owner/name; the program's page has it"},
        note="A relative path counts from the folder in which the program is started: start it in "
        "its own folder, or write the whole path.",
    )
    return _note(
        event,
        f"{path} is neither a folder that exists nor a name on the Hub",
        "A path that does not exist is taken for the name of a repository, owner/name. Look for a "
        "typing error, and for a folder that is not mounted in the container.",
        (download,) if _FOLDER.fullmatch(path) else (),
    )


_FOLDER = re.compile(r"(?:[A-Za-z]:|\.{1,2})?[\w./\\-]{3,200}")


def _packages(case: Case, event: Event) -> Explanation | None:
    del case
    modules = [one.strip() for one in event.objects["packages"].split(",") if one.strip()][:8]
    wanted = [names.distribution_of(one) or "" for one in modules]
    plain = all(wanted) and not _COMPILED & set(modules) and all(map(NAME.fullmatch, wanted))
    return _note(
        event,
        f"The code of the model imports {', '.join(modules)}, which is not installed",
        "transformers looks through the code that the model brings along before it runs it.",
        (
            Recipe(
                title="Install what it imports",
                steps=(Action(install=tuple(wanted), options=(Option.HOLD_TORCH,)),),
            ),
        )
        if plain
        else (),
        severity=Severity.ERROR,
    )


def _no_weights(case: Case, event: Event) -> Explanation | None:
    text = "\n".join(case.log.lines[max(event.at - _NEAR, 0) : event.at + _NEAR])[:20_000]
    what = event.objects.get("what", "")
    key = event.objects.get("key", "")
    pointer = "git-lfs" in text or key == "v" or what == "HeaderTooLarge"
    page = key == "<" or "<html" in text.lower()
    file = re.search(r"[\w./\\-]{1,200}\.(?:safetensors|bin|pth|pt|ckpt)\b", text)
    name = file[0] if file else "The file"
    if page:
        title = f"{name} holds a web page instead of weights"
        cause = (
            "What was downloaded is the page of a server: a login, an error, or the view of the "
            "file instead of the file itself."
        )
    elif pointer:
        title = f"{name} is no file of weights: most likely a pointer of git-lfs"
        cause = (
            "A clone without git-lfs brings small text files in the place of the weights. A few "
            "hundred bytes and `version https://git-lfs` at its start prove it."
        )
    else:
        title = f"{name} is no file of weights in the format that it is read as"
        cause = "It is damaged, half downloaded, or of another format than its name says."
    return _note(
        event,
        title,
        cause,
        (
            Recipe(
                title="Fetch the weights of the clone",
                use_if=("the folder is a clone made with git",),
                steps=(
                    Action(run=("git", "lfs", "install")),
                    Action(run=("git", "lfs", "pull")),
                ),
                note="git-lfs is a package of its own: apt and brew call it git-lfs.",
            ),
            Recipe(
                title="Download the model again",
                use_if=("it is on the Hugging Face Hub",),
                steps=(Action(run=("hf", "download", "<repository>", "--force-download")),),
                ask={"repository": "the name of the model on the Hub, as owner/name"},
            ),
        )
        if not page
        else (),
        severity=Severity.ERROR,
    )


def _cut_short(case: Case, event: Event) -> Explanation | None:
    text = "\n".join(case.log.lines[max(event.at - _NEAR, 0) : event.at + 3])[:20_000]
    if "Ran out of input" in event.text and not re.search(r"torch|pickle|\.p(?:t|th|kl)\b", text):
        return None
    file = re.search(r"[\w./\\-]{1,200}\.(?:safetensors|bin|pth|pt|ckpt|pkl)\b", text)
    return _note(
        event,
        f"{file[0] if file else 'The file'} is cut off: not all of it was written",
        "A download or a save ended early, or the disk was full. Remove the file and fetch or "
        "write "
        "it again.",
        (
            Recipe(
                title="Download the model again",
                use_if=("it is on the Hugging Face Hub",),
                steps=(Action(run=("hf", "download", "<repository>", "--force-download")),),
                ask={"repository": "the name of the model on the Hub, as owner/name"},
            ),
        ),
        severity=Severity.ERROR,
    )


def _community_pipeline(_: Case, event: Event) -> Explanation:
    """Explain a pipeline of the community, which comes from the newest sources of diffusers."""
    pipeline = event.objects["pipeline"].rpartition(".")[2]
    return explanation(
        event,
        f"{pipeline} is a pipeline of the community for another release of diffusers",
        "diffusers takes the code of such a pipeline from its newest sources, or from the model's "
        "repository. It asks for parts of the model that the installed release does not hand in.",
        (
            Recipe(
                title="Take the newest diffusers",
                steps=(
                    Action(
                        install=("diffusers",),
                        companions=("accelerate",),
                        options=(Option.UPGRADE, Option.HOLD_TORCH),
                    ),
                ),
            ),
            code(
                "Take the code of the pipeline from the installed release",
                "the call of from_pretrained",
                "DiffusionPipeline.from_pretrained(model, custom_pipeline=name, "
                'custom_revision=f"v{diffusers.__version__}")',
                before="DiffusionPipeline.from_pretrained(model, custom_pipeline=name)",
            ),
        ),
        name="community-pipeline",
    )


_EXPLAINED = {
    "pipeline-part-not-passed": _community_pipeline,
    "model-gated": _gated,
    "model-not-found": _not_found,
    "model-file-not-found": _no_file,
    "model-revision-not-found": _revision,
    "hub-token-refused": _token,
    "hub-too-many-requests": _busy,
    "hub-offline": _offline,
    "hub-not-reached": _unreached,
    "hub-name-invalid": _name,
    "remote-code-package-missing": _packages,
    "weights-not-weights": _no_weights,
    "weights-cut-short": _cut_short,
}
