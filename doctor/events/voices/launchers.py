"""Schedulers, launchers, CI and programs that nobody knows: who reports about whom."""

from __future__ import annotations

from doctor.events.forms import ANYBODY, Form, Voice
from doctor.model.events import Level

VOICES = (
    Voice(
        "Slurm",
        (
            Form(
                "job-failed",
                r"(?:slurmstepd|srun|sbatch|salloc): error: (?P<message>.{1,300})",
                ("slurmstepd: error", "srun: error", "sbatch: error", "salloc: error"),
                general=True,
            ),
            Form(
                "task-failed",
                r"srun: error: .{1,80}: tasks? .{1,40}: (?:Exited with|Terminated)"
                r"|srun: (?:Job step aborted|Terminating)"
                r"|slurmstepd: error: \*\*\* (?:STEP|JOB) .{1,60} (?:CANCELLED|ON)",
                ("srun: error", "job step aborted", "srun: terminating", "slurmstepd: error: ***"),
                Level.WRAPPER,
            ),
        ),
    ),
    Voice(
        "Ray",
        (
            Form(
                "worker-died",
                r"(?i)\b(?:RayTaskError|RayActorError|ActorDiedError|ActorUnavailableError"
                r"|WorkerCrashedError|LocalRayletDiedError"
                r"|A worker died or was killed|worker (?:process )?died)",
                (
                    "raytaskerror",
                    "rayactorerror",
                    "actordied",
                    "actorunavailable",
                    "workercrashed",
                    "rayletdied",
                    "worker died",
                    "worker process died",
                ),
                Level.WRAPPER,
            ),
        ),
    ),
    Voice(
        "torchrun",
        (
            Form(
                "worker-died",
                r"ChildFailedError|failed \(exitcode: (?P<exitcode>-?\d{1,5})\)"
                r"|Sending process \d{1,9} closing signal|Root Cause \(first observed failure\)"
                r"|elastic\.multiprocessing\.api: ?\[?ERROR|exitcode +: (?P<status>-?\d{1,5})"
                r"|SignalException: Process \d{1,9} got signal",
                (
                    "childfailederror",
                    "(exitcode: ",
                    "closing signal",
                    "first observed failure",
                    "multiprocessing.api",
                    "exitcode  ",
                    "signalexception",
                ),
                Level.WRAPPER,
            ),
        ),
    ),
    Voice(
        "mpirun",
        (
            Form(
                "worker-died",
                r"(?:mpirun|mpiexec|prterun) (?:noticed that|detected that)"
                r"|Primary job\s{1,4}terminated normally|MPI_ABORT was invoked"
                r"|BAD TERMINATION OF ONE",
                (
                    "mpirun ",
                    "mpiexec ",
                    "prterun ",
                    "primary job",
                    "mpi_abort was",
                    "bad termination of one",
                ),
                Level.WRAPPER,
            ),
        ),
    ),
    Voice(
        "DeepSpeed's launcher",
        (
            Form(
                "worker-died",
                r"launch\.py:\d{1,5}:sigkill_handler|exits with return code = (?P<status>-?\d{1,5}"
                r")|Killing subprocess \d",
                ("sigkill_handler", "exits with return code", "killing subprocess"),
                Level.WRAPPER,
            ),
        ),
    ),
    Voice(
        "multiprocessing",
        (
            Form(
                "worker-died",
                r"DataLoader worker \(pid\(?s?\)? .{1,60}exited unexpectedly"
                r"|resource_tracker: There appear to be|process \d{1,6} terminated with (?:signal"
                r"|exit)",
                ("dataloader worker (pid", "resource_tracker: there", "terminated with "),
                Level.WRAPPER,
            ),
        ),
    ),
    Voice(
        "systemd",
        (
            Form(
                "unit-failed",
                r"Failed with result '(?P<result>[^']{1,40})'"
                r"|Main process exited, code=(?P<code>\w{1,20}), status=(?P<status>[\w/]{1,20})"
                r"|Failed to start (?P<unit>.{1,120})",
                ("failed with result '", "main process exited", "failed to start "),
                Level.WRAPPER,
            ),
        ),
    ),
    Voice(
        "CI",
        (
            Form(
                "step-failed",
                r"Process completed with exit code|The process '.{1,300}' failed with exit code"
                r"|Job failed: exit code|script returned exit code",
                (
                    "process completed with exit",
                    "failed with exit code",
                    "job failed: exit",
                    "script returned exit",
                ),
                Level.WRAPPER,
            ),
        ),
    ),
    Voice(
        ANYBODY,
        (
            Form(
                "harmless",
                r"(?i)recovered from panic",
                ("recovered from panic",),
                Level.WARNING,
            ),
            Form(
                "warning",
                r"(?i)\b(?:warn(?:ing)?\b|userwarning: |runtimewarning: |importwarning: ).{0,300}"
                r"(?P<message>(?:can't|cannot|could not|couldn't|failed|unable to|not compatible"
                r"|incompatible|not supported"
                r"|not available|mismatch|too old|unknown error|is disabled).{0,300})",
                ("warning", "warn "),
                Level.WARNING,
                general=True,
            ),
            Form(
                "exit-code",
                r"(?i)\bexit(?:ed|s|ing)? (?:unexpectedly )?(?:with |status |code "
                r"|return ){1,3}(?:code |status )?[:=]?\s?(?P<status>-?[1-9]\d{0,9}"
                r"|0x[0-9a-f]{1,8}|137|139)"
                r"|\bexit(?: ?code|_code| status)[:=] ?(?P<code>-?[1-9]\d{0,9})|\((?:exit"
                r"|return) (?:code|status):? (?P<result>[1-9]\d{0,5})\)",
                (
                    "exit code",
                    "exit status",
                    "exited with",
                    "exits with",
                    "exiting with",
                    "exitcode",
                    "exit_code",
                    "return code",
                    "return status",
                ),
                Level.WRAPPER,
            ),
            Form(
                "error",
                r"^error: (?P<message>.{1,500})",
                (".cc:", ".cpp:", ".cu:", ".go:"),
                general=True,
            ),
            Form(
                "shutdown-signal",
                r"(?i)(?:shut ?down|terminated|killed|died|stopped)(?: by| with"
                r"| from)? signal:? (?P<signal>\d{1,2}|SIG[A-Z]{2,6}|[\w ]{3,40})",
                ("with signal", "by signal", "from signal"),
                general=True,
            ),
            Form(
                "error",
                r"(?:^|[\s\]>|`\"'*#(])(?:\[)?(?:[Ff]atal [Ee]rror|[Ee]rror|ERROR|FATAL|CRITICAL"
                r"|Fatal|PANIC|fatal)(?:\])?(?:\([^)]{1,60}\))?: ?(?P<message>\S.{0,500})",
                ("error: ", "error:", "fatal: ", "critical: ", "panic: ", "error]:", "error):"),
                general=True,
            ),
            Form(
                "error",
                r"^\s{0,8}(?:\[?(?:ERROR|FATAL|CRITICAL|FAILED|SEVERE)\]?|E\d{4})[\s"
                r"|-]{1,8}(?P<message>\S.{2,500})",
                (
                    "error ",
                    "error]",
                    "error\t",
                    "fatal ",
                    "fatal]",
                    "critical ",
                    "critical]",
                    "failed ",
                    "severe ",
                ),
                general=True,
            ),
            Form(
                "error",
                r"\blevel=(?:error|fatal|panic) (?P<message>.{1,500})"
                r"|\berror=\"(?P<text>[^\"]{1,500})",
                ("level=error", "level=fatal", "level=panic", 'error="'),
                general=True,
            ),
        ),
    ),
)
