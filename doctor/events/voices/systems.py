"""Systems and containers: their general forms."""

from __future__ import annotations

from doctor.events.forms import Form, Voice
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
                r"executor failed running|did not complete successfully"
                r"|failed to solve(?:: | with )"
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
)
