"""Explain a CUDA toolkit of another generation than torch, by the two numbers of the message.

| event | what is said of it |
| --- | --- |
| toolkit-differs | both releases; the index of a torch for the toolkit, the toolkit for the torch |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.machine import fact_text
from doctor.analyzers.recipes import LINUX, WINDOWS, another_torch, fitting
from doctor.model.events import Event
from doctor.model.issues import Action, Condition, Recipe, Snippet

_TORCH = re.compile(r"PyTorch \((\d{1,2}\.\d)\)")
_INDEXES = {
    "11.7": ("cu117", "torch 1.13 to 2.0"),
    "11.8": ("cu118", "torch 2.0 to 2.7"),
    "12.1": ("cu121", "torch 2.1 to 2.5"),
    "12.4": ("cu124", "torch 2.4 to 2.6"),
    "12.6": ("cu126", "torch 2.6 and later"),
    "12.8": ("cu128", "torch 2.7 and later"),
    "12.9": ("cu129", "torch 2.8 and later"),
    "13.0": ("cu130", "torch 2.9 and later"),
}
"""Indexes of download.pytorch.org, and the releases that they hold."""
_NEAREST = {"11": "11.8", "12": "12.6", "13": "13.0"}


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of the first message of torch's extension builder."""
    event = next(case.of("toolkit-differs"), None)
    if event is None or fact_text(case, "torch.cuda_version"):
        return  # the known issue decides by the facts of the machine
    after = " ".join(case.log.lines[event.at : event.at + 3])[:1000]
    match = _TORCH.search(after)
    torch = event.objects.get("torch") or (match[1] if match else "")
    if torch:
        yield _differs(case, event, event.objects["toolkit"], torch)


def _differs(case: Case, event: Event, toolkit: str, torch: str) -> Explanation:
    return explanation(
        event,
        f"The toolkit is CUDA {toolkit}, and torch is built for CUDA {torch}: no extension builds",
        "The first number of both has to be the same. The CUDA Version of nvidia-smi is that of "
        "the driver and plays no part.",
        fitting(case, _recipes(case, toolkit, torch)),
        name="toolkit-differs",
        contradicts=("flash-attn/cuda-major-mismatch",),
    )


def _recipes(case: Case, toolkit: str, torch: str) -> tuple[Recipe, ...]:
    found = _INDEXES.get(toolkit) or _INDEXES.get(_NEAREST.get(toolkit.partition(".")[0], ""))
    dashed = torch.replace(".", "-")
    back = (
        Recipe(
            title=f"Take a torch that is built for the toolkit's CUDA ({found[1]})",
            use_if=("nothing needs the torch that is here",),
            steps=another_torch(f"https://download.pytorch.org/whl/{found[0]}"),
            note="In a Dockerfile write the index into the line that installs torch. Then build "
            "the extension again with --no-build-isolation.",
        )
        if found
        else None
    )
    toolkits = (
        Recipe(
            title=f"Let the build take a toolkit {torch}, and build again in the same shell",
            use_if=(
                LINUX,
                f"/usr/local/cuda-{torch} exists (apt-get install cuda-toolkit-{dashed})",
            ),
            steps=(
                Action(
                    env={
                        "CUDA_HOME": f"/usr/local/cuda-{torch}",
                        "PATH": f"/usr/local/cuda-{torch}/bin:$PATH",
                    }
                ),
            ),
        ),
        Recipe(
            title=f"Let the build take a toolkit {torch}, and build again in the same shell",
            use_if=(WINDOWS, f"CUDA {torch} is installed from NVIDIA's archive of toolkits"),
            steps=(
                Action(
                    env={
                        "CUDA_HOME": "C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\"
                        f"v{torch}"
                    }
                ),
            ),
        ),
    )
    image = _image(torch)
    parts = (back, *toolkits, image) if case.context.container else (*toolkits, back, image)
    return tuple(one for one in parts if one is not None)


def _image(cuda: str) -> Recipe | None:
    """Return the recipe that builds in NVIDIA's image with a CUDA, where one is left."""
    release = tuple(int(part) for part in cuda.split(".")[:2] if part.isdigit())
    if release < (11, 0):
        return None
    ubuntu = "ubuntu22.04" if release >= (11, 7) else "ubuntu20.04"
    return Recipe(
        title=f"Build in an image with CUDA {cuda}",
        use_if=(Condition(fact="host.container", present=True),),
        snippet=Snippet(
            where="the first line of the Dockerfile",
            after=f"FROM nvidia/cuda:{cuda}.{_PATCH.get(cuda, '0')}-devel-{ubuntu}",
        ),
    )


_PATCH = {
    **dict.fromkeys(("11.0", "11.4", "12.6"), "3"),
    **dict.fromkeys(("11.2", "11.5", "11.6"), "2"),
    **dict.fromkeys(("11.1", "11.3", "11.7", "12.1", "12.4", "12.8", "12.9"), "1"),
}
"""The last image of each release (docker.io/nvidia/cuda)."""
