"""Explain archives of libtorch that PyTorch's server refuses, since no such build exists.

The server answers 403 for each file that it does not have. torch-sys makes the address from its
release and TORCH_CUDA_VERSION (https://github.com/LaurentMazare/tch-rs, torch-sys/build.rs).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers import offers
from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe

_RUST = re.compile(r"torch-sys|\bcargo\b|\btch\b|download-libtorch|Cuda::is_available|--- stderr")


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of the first archive that is refused."""
    event = next(case.of("libtorch-refused"), None)
    if event is not None and (found := _explanation(case, event)) is not None:
        yield found


def _explanation(case: Case, event: Event) -> Explanation | None:
    build, release = event.objects["build"], event.objects["release"]
    cuda = offers.named_cuda(build)
    there = offers.cuda_of_torch(case.catalog, release)
    if not cuda or not there or cuda in there:
        return None
    builds = [f"cu{one.replace('.', '')}" for one in there]
    rust = any(_RUST.search(line) for line in case.log.lines)
    folder = f"https://download.pytorch.org/libtorch/{builds[-1]}"
    by_rust = Recipe(
        title=f"Have torch-sys fetch the build for {builds[-1]}",
        note="Without the variable it takes the build for the processor, and "
        "Cuda::is_available() is false. The CUDA toolkit plays no part: libtorch brings its own.",
        steps=(
            Action(run=("cargo", "clean")),
            Action(run=("cargo", "build"), env={"TORCH_CUDA_VERSION": builds[-1]}),
        ),
    )
    by_python = Recipe(
        title=f"Build against the torch {release} of a Python",
        use_if=("a Python environment may hold torch for it",),
        steps=(
            Action(
                install=(f"torch=={release}",),
                index=f"https://download.pytorch.org/whl/{builds[-1]}",
            ),
            Action(run=("cargo", "build"), env={"LIBTORCH_USE_PYTORCH": "1"}),
        ),
    )
    return explanation(
        event,
        f"There is no libtorch {release} for CUDA {cuda}: the builds are {', '.join(builds)}",
        f"The server answers {event.objects.get('status', '403')} for a file that it does not "
        f"have; neither the network nor rights play a part. The archive for {builds[-1]} lies "
        f"below {folder}.",
        (by_rust, by_python) if rust else (by_python,),
        name="build-does-not-exist",
    )
