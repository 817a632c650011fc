"""Schedulers that do not give what a job asks for: Ray, Slurm, MPI, Kubernetes."""

from __future__ import annotations

from doctor.events.forms import Form, Voice
from doctor.model.events import Level

VOICES = (
    Voice(
        "Ray",
        (
            Form(
                "ray-resource-missing",
                r"No available node types can fulfill resource requests? "
                r"(?P<asked>\{[^}]{1,120}\})",
                ("no available node types",),
            ),
            Form(
                "ray-resource-missing",
                r"(?:placement group (?:cannot be created|requests? pending)|cannot be scheduled "
                r"right now)[^{]{0,160}(?P<asked>\{[^}]{1,120}\})",
                ("placement group", "cannot be scheduled right now"),
            ),
            Form(
                "ray-small-shared-memory",
                r"shm has only (?P<bytes>\d{1,15}) bytes available",
                ("shm has only",),
                level=Level.WARNING,
            ),
            Form(
                "ray-driver-without-gpu",
                r"Ray does not allocate any GPUs on the driver node",
                ("does not allocate any gpus on the",),
            ),
            Form(
                "ray-node-not-started",
                r"The current node timed out during startup"
                r"|Some workers of the worker process\(\d{1,9}\) have not registered within the "
                r"timeout",
                ("node timed out during startup", "not registered within the timeout"),
            ),
        ),
    ),
    Voice(
        "Slurm",
        (
            Form(
                "slurm-more-than-allowed",
                r"(?P<what>More processors requested than permitted"
                r"|Requested node configuration is not available"
                r"|Invalid generic resource \(gres\) specification"
                r"|Invalid (?:account or account/partition|partition name) \w{1,30}"
                r"|Job violates accounting/QOS policy|Memory specification can not be satisfied)",
                (
                    "more processors requested",
                    "requested node configuration",
                    "invalid generic resource",
                    "invalid account",
                    "invalid partition",
                    "violates accounting",
                    "memory specification can",
                ),
            ),
            Form(
                "slurm-pmi-missing",
                r"srun: error: (?:PMIx? plugin not found|\S{0,40}cannot find \w{1,20} plugin for "
                r"(?P<plugin>mpi/\w{1,20}))|OMPI was not built with SLURM's PMI support",
                ("plugin not found", "cannot find ", "slurm's pmi support"),
            ),
            Form(
                "slurm-tasks",
                r"You set `--ntasks=(?P<tasks>\d{1,6})` in your SLURM bash script",
                ("in your slurm bash script",),
            ),
        ),
    ),
    Voice(
        "mpirun",
        (
            Form(
                "mpi-slots",
                r"There are not enough slots available in the system to satisfy the "
                r"(?P<slots>\d{1,6})",
                ("not enough slots available",),
            ),
            Form(
                "mpi-root",
                r"mpirun has detected an attempt to run as root",
                ("attempt to run as root",),
            ),
        ),
    ),
    Voice(
        "gpushare",
        (
            Form(
                "gpu-share-full",
                r"no-gpu-has-(?P<asked>\d{1,9}\w{1,3})-to-run",
                ("no-gpu-has-",),
            ),
        ),
    ),
    Voice(
        "Docker",
        (
            Form(
                "image-of-other-processor",
                r"exec (?P<file>/\S{1,200}): exec format error"
                r"|exec user process caused:? \"?exec format error",
                ("exec format error",),
            ),
            Form(
                "image-of-other-processor",
                r"requested image's platform \((?P<image>[\w/]{3,30})\) does not match the "
                r"detected host platform \((?P<host>[\w/]{3,30})\)",
                ("requested image's platform",),
            ),
        ),
    ),
)
