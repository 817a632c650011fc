"""Names of C++ and CUDA that came or went: which release has them, and what helps."""

from __future__ import annotations

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.machine import fact_text, is_conda, toolkit_of
from doctor.base.versions import parse
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe
from doctor.model.reference import NameRow
from doctor.timelines.cpp_names import gone_name
from doctor.timelines.cuda_names import cuda_name

_PRODUCTS = {
    **dict.fromkeys(("cuda", "cccl", "cusparse", "cublas", "cusolver"), "CUDA"),
    "cutlass": "CUTLASS",
}

NEWER_SOURCES = Recipe(
    title="Take newer sources of the package",
    use_if=("it has a release or a branch for this torch and CUDA",),
    steps=(Action(install=("<package>",), options=()),),
    ask={"package": "the package, with the release that knows this torch"},
)


def sources_ahead(case: Case, event: Event) -> Explanation | None:
    """Explain a macro of torch that took another kind of type before torch 1.1."""
    message = event.objects.get("message", "")
    if "at::Type&" not in message or "c10::ScalarType" not in message:
        return None
    row = NameRow(name="AT_DISPATCH with a ScalarType", product="torch", since="1.1")
    return explain_name(case, event, row.name, row)


def row_of(name: str, scope: str) -> NameRow | None:
    """Return which releases have a name; None if nothing is known of it."""
    row = gone_name(f"{scope}::{name}") if scope else None
    if row := row or gone_name(name):
        return row
    found = cuda_name(name) if not scope else None
    if found is None:
        return None
    return NameRow(name=name, product=found.product, since=found.since, until=found.until)


def explain_name(case: Case, event: Event, name: str, row: NameRow) -> Explanation | None:
    """Explain a name that the release which is here lacks; None if it should have it."""
    product = _PRODUCTS.get(row.product, row.product)
    here = ""
    if product == "torch":
        here = fact_text(case, "torch.release")
    elif product == "CUDA":
        here = toolkit_of(case, event)
    installed = parse(here) if here else None
    last = parse(row.until) if row.until else None
    first = parse(row.since) if row.since else None
    too_new = bool(row.until) and not (
        installed and last and installed.release[:2] <= last.release[:2]
    )
    if too_new and not (installed and first and installed < first):
        title = f"{name} left {product} after {row.until}" + (
            f", and {product} {here} is here" if here else ""
        )
        cause = f"The sources are written for an older {product}. "
    elif row.since and not (installed and first and installed >= first):
        too_new = False
        title = f"{name} came with {product} {row.since}" + (
            f", and {product} {here} is here" if here else ", and an older one is here"
        )
        cause = f"The sources are written for a newer {product}. "
    else:
        return None
    cause += f"In its place: {row.instead}. " if row.instead else ""
    cause += row.note
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            title,
            f"{cause.strip()} Another release of the package, or another {product}, is the way; "
            "the compiler is not to blame.",
            recipes=_older(product, row) if too_new else _newer(case, event, product, row),
            name="cpp-name-gone",
            captures={"name": name},
        ),
    )


def older_torch(last: str) -> tuple[Recipe, ...]:
    """Return the recipe for the last torch with a name: an environment of its own."""
    name = f"torch-{last}"
    return (
        Recipe(
            title=f"Build it in an environment of its own with torch {last}",
            use_if=(
                "conda is installed, and the sources cannot be changed",
                f"torch {last} serves this GPU",
            ),
            steps=(
                Action(run=("conda", "create", "--yes", "--name", name, "python=<python>")),
                Action(
                    run=(
                        *("conda", "run", "--name", name),
                        *("python", "-m", "pip", "install", f"torch=={last}.*"),
                    )
                ),
            ),
            ask={"python": f"a Python that torch {last} has wheels for (3.9 for torch 1.10)"},
        ),
    )


def _older(product: str, row: NameRow) -> tuple[Recipe, ...]:
    """Return what helps sources that are written for an older release."""
    if product == "torch":
        return (NEWER_SOURCES, *older_torch(row.until))
    if product in ("CUDA", "cuDNN"):
        return (NEWER_SOURCES, _toolkit(product, f"{row.until} or older", row.until))
    return (NEWER_SOURCES,)


def _newer(case: Case, event: Event, product: str, row: NameRow) -> tuple[Recipe, ...]:
    """Return what helps sources that are written for a newer release."""
    older_sources = Recipe(
        title=f"Take an older release of the package, from before {product} {row.since}",
        use_if=(f"{product} has to stay as it is",),
        note="In a clone: git log shows the commits, git checkout takes one.",
        steps=(Action(install=("<package>",), options=()),),
        ask={"package": f"the package with a release from before {product} {row.since}"},
    )
    if product == "torch":
        newer = Recipe(
            title=f"Update torch to {row.since} or newer, then build again in an empty folder",
            use_if=("nothing needs the torch that is here",),
            note="Take the index of the CUDA release that torch has now.",
            steps=(
                Action(
                    install=(f"torch>={row.since}",),
                    companions=("torchvision", "torchaudio"),
                ),
            ),
        )
        return newer, older_sources
    if product in ("CUDA", "cuDNN"):
        conda = is_conda(case, event) and product == "cuDNN"
        by_conda = Recipe(
            title=f"Install cuDNN {row.since} or newer into the environment",
            steps=(
                Action(
                    run=(
                        *("conda", "install", "-p", "{python.conda|<environment>}"),
                        *("-c", "conda-forge", f"cudnn>={row.since}"),
                    )
                ),
            ),
            ask={"environment": "the folder of the conda environment"},
        )
        toolkit = _toolkit(product, f"{row.since} or newer", row.since)
        return (by_conda, toolkit) if conda else (toolkit, older_sources)
    return ()


def _toolkit(product: str, which: str, release: str) -> Recipe:
    if product == "cuDNN":
        return Recipe(
            title=f"Build against cuDNN {which}",
            use_if=("it is installed in a folder of its own",),
            steps=(Action(env={"CUDNN_HOME": "<cudnn>", "CPATH": "<cudnn>/include"}),),
            ask={"cudnn": "its folder, which holds include/cudnn.h"},
        )
    short = ".".join(release.split(".")[:2])
    return Recipe(
        title=f"Build with the toolkit of CUDA {which}, and with a torch for the same CUDA",
        note="Without such a toolkit, install it first (NVIDIA's archive of CUDA toolkits has all "
        "releases). torch.version.cuda has to name the same major release.",
        steps=(Action(env={"CUDA_HOME": "<toolkit>", "PATH": "<toolkit>/bin:$PATH"}),),
        ask={"toolkit": f"its folder, such as /usr/local/cuda-{short}"},
    )
