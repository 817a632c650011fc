"""Systems, containers, schedulers and launchers: general forms, and who reports about whom."""

from __future__ import annotations

from doctor.events.forms import ANYBODY, Form, Voice
from doctor.model.events import Level

VOICES = (
    Voice(
        "the shell",
        (
            Form(
                "killed",
                r"(?:^|[\s)])(?P<signal>Killed|Segmentation fault|Illegal instruction|Bus error"
                r"|Aborted|Floating point exception"
                r"|Trace/breakpoint trap)(?: \(core dumped\)|:? ?\d{0,3}\s|\s{0,8}$)",
                (
                    "killed",
                    "segmentation fault",
                    "illegal instruction",
                    "bus error",
                    "aborted",
                    "floating point",
                    "breakpoint trap",
                ),
                general=True,
            ),
            Form(
                "killed",
                r"zsh: (?P<signal>killed|segmentation fault|illegal hardware instruction|abort"
                r"|bus error) ",
                ("zsh: ",),
                general=True,
            ),
            Form(
                "command-not-found",
                r"(?:^|[\s:])(?P<command>[\w./+-]{1,120}): (?:command )?not found\s{0,8}$"
                r"|'(?P<program>[^']{1,120})' is not recognized as an internal or external command"
                r"|The term '(?P<term>[^']{1,120})' is not recognized",
                ("not found", "is not recognized as", "is not recognized"),
                general=True,
            ),
            Form(
                "file-not-usable",
                r"(?:^|\s)(?P<file>[\w./~+-]{1,300}): (?:Permission denied|Is a directory"
                r"|No space left on device|No such file or directory)(?:$|[\s'\"`])",
                ("permission denied", "no space left on", "no such file or directory"),
                general=True,
            ),
        ),
    ),
    Voice(
        "the C++ runtime",
        (
            Form(
                "terminated",
                r"terminate called after throwing an instance of '(?P<type>[^']{1,200})'",
                ("terminate called after",),
                general=True,
            ),
            Form(
                "terminated",
                r"^\s{0,8}what\(\):\s{1,8}(?P<message>.{1,400})",
                ("what():",),
                general=True,
            ),
            Form(
                "terminated",
                r"\*\*\* (?P<message>(?:stack smashing|buffer overflow) detected"
                r"|Process received signal|SIG[A-Z]{3,6}|Aborted at)"
                r"|double free or corruption|corrupted size vs|malloc\(\): |free\(\): invalid"
                r"|Assertion [`'].{1,300}failed",
                (
                    "smashing detected",
                    "overflow detected",
                    "process received signal",
                    "*** sig",
                    "double free",
                    "corrupted size",
                    "malloc(): ",
                    "free(): ",
                    "assertion ",
                ),
                general=True,
            ),
        ),
    ),
    Voice(
        "the kernel",
        (
            Form(
                "killed",
                r"(?:Out of memory|Memory cgroup out of memory): Kill(?:ed)? process (?P<pid>"
                r"\d{1,9}) ?\(?(?P<program>[^)\s]{0,60})",
                ("out of memory: kill",),
                general=True,
            ),
            Form(
                "crash",
                r"(?P<program>[\w.-]{1,60})\[\d{1,9}\]: segfault at .{1,200}",
                (": segfault at",),
                general=True,
            ),
        ),
    ),
    Voice(
        "Windows",
        (
            Form(
                "windows-error",
                r"(?:WinError|OS error|os error|error code) (?P<code>\d{1,5})[\]):]? ?"
                r"(?P<message>.{0,300})",
                ("winerror", "os error ", "error code "),
                general=True,
            ),
            Form(
                "exit-status",
                r"(?i)exit(?:ed)?(?: with)?(?: status| code)?:? (?P<status>0xc[0-9a-f]{7})\b",
                (" 0xc0",),
            ),
            Form(
                "dll-not-loaded",
                r"DLL load failed(?: while importing (?P<module>[\w.]{1,120}))?: ?(?P<message>"
                r".{0,300})",
                ("dll load failed",),
                general=True,
            ),
        ),
    ),
    Voice(
        "the loader",
        (
            Form(
                "symbol-not-loaded",
                r"Cannot load symbol (?P<symbol>\w{3,200})",
                ("cannot load symbol",),
                general=True,
            ),
            Form(
                "load-failed",
                r"error while loading shared libraries: (?P<library>[^:\s]{1,200}): (?P<message>"
                r".{1,300})"
                r"|dyld(?:\[\d{1,9}\])?: (?P<text>.{1,300})|Library not loaded: (?P<file>.{1,300})",
                ("error while loading shared", "dyld", "library not loaded"),
                general=True,
            ),
        ),
    ),
    Voice(
        "Docker",
        (
            Form(
                "daemon-error",
                r"[Ee]rror response from daemon: (?P<message>.{1,600})"
                r"|Cannot connect to the Docker daemon",
                ("response from daemon", "connect to the docker daemon"),
                general=True,
            ),
            Form(
                "build-failed",
                r"executor failed running|did not complete successfully|failed to solve"
                r"|The command '/bin/.{1,600}' returned a non-zero code",
                (
                    "executor failed running",
                    "did not complete successfully",
                    "failed to solve",
                    "returned a non-zero code",
                ),
                Level.WRAPPER,
            ),
            Form(
                "run-failed",
                r"^ERRO\[\d{4,6}\] |error waiting for container",
                ("erro[0", "error waiting for container"),
                Level.WRAPPER,
            ),
        ),
    ),
    Voice(
        "the container runtime",
        (
            Form(
                "runtime-error",
                r"(?:nvidia-container-cli|nvidia-container-runtime|OCI runtime (?:create"
                r"|exec) failed|runc create failed|failed to create containerd task"
                r"|failed to create shim|libcontainer|crun|apptainer|singularity"
                r"|FATAL:   )(?:[^:]{0,60}): (?P<message>.{1,500})",
                (
                    "nvidia-container-cli",
                    "oci runtime",
                    "runc create failed",
                    "containerd task",
                    "failed to create shim",
                    "fatal:   ",
                ),
                general=True,
            ),
        ),
    ),
    Voice(
        "kubelet",
        (
            Form(
                "pod-failed",
                r"\b(?P<reason>CrashLoopBackOff|ImagePullBackOff|ErrImagePull|OOMKilled"
                r"|FailedScheduling|FailedCreatePodSandBox|CreateContainerError"
                r"|RunContainerError|UnexpectedAdmissionError|FailedMount"
                r"|Evicted)\b(?P<message>.{0,400})",
                (
                    "crashloopbackoff",
                    "imagepullbackoff",
                    "errimagepull",
                    "oomkilled",
                    "failedscheduling",
                    "failedcreatepodsandbox",
                    "createcontainererror",
                    "runcontainererror",
                    "unexpectedadmission",
                    "failedmount",
                    "evicted",
                ),
                general=True,
            ),
            Form(
                "pod-failed",
                r"Back-off restarting failed container",
                ("back-off restarting",),
                Level.WRAPPER,
            ),
        ),
    ),
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
