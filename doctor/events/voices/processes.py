"""How processes end: shells, launchers, container engines, Slurm and Kubernetes."""

from __future__ import annotations

from doctor.events.forms import Form, Voice
from doctor.model.events import Level

VOICES = (
    Voice(
        "shell",
        (
            Form(
                "killed-by-signal",
                r"(?:^|[\s:])(?P<said>Segmentation fault|Illegal instruction|Bus "
                r"error|Aborted|Killed|"
                r"Floating point exception|Trace/breakpoint trap)(?: ?:? ?\d{0,2})? ?\(core "
                r"dumped\)",
                ("(core dumped)",),
            ),
            Form(
                "killed-by-signal",
                r"(?:^['`\"]?|: line \d{1,6}: {1,6}\d{1,7} )(?P<said>Killed|Segmentation "
                r"fault|Illegal instruction|"
                r"Bus error|Aborted|Terminated)(?:[ \t]{2,60}\S.{0,200}|: \d{1,2}|\.)?[ \t]{0,10}$",
                (
                    "killed",
                    "segmentation fault",
                    "illegal instruction",
                    "bus error",
                    "aborted",
                    "terminated",
                ),
            ),
            # A sentence of a user who does not paste the line itself.
            Form(
                "killed-by-signal",
                r"(?i)\b(?P<said>illegal instruction|segmentation fault|bus error)\b.{0,40}"
                r"\bcore dumped\b",
                ("core dumped",),
            ),
            # bindgen_cuda prints the status of a shell, in hexadecimal, as a heading.
            Form(
                "exit-status",
                r"^\s{0,8}# --error (?P<status>0x[0-9a-fA-F]{1,8}) --",
                ("# --error 0x",),
                level=Level.WRAPPER,
            ),
            Form(
                "killed-by-signal",
                r"(?i)Fatal Python error: (?P<said>Segmentation fault|Illegal "
                r"instruction|Bus error|Aborted|"
                r"Floating point exception)",
                ("fatal python error",),
            ),
            Form(
                "killed-by-signal",
                r"\*{3} (?:Process received signal|Signal: (?P<said>[A-Z][a-z]+ [a-z]+) "
                r"\((?P<signal>\d{1,2})\))",
                ("signal: ",),
            ),
            Form(
                "killed-by-signal",
                r"!{7} (?P<said>Segfault) encountered",
                ("segfault encountered",),
            ),
            Form(
                "killed-by-signal",
                r"(?i)\b(?:signal|sig)[:= ]{1,3}(?:number )?(?P<signal>\d{1,2})\b"
                r"(?: ?[,(:-]{1,2} ?(?P<said>(?:SIG)?[A-Z]{2,8}|[A-Za-z][a-z]+ [a-z]+)\)?)?",
                ("signal: ", "signal=", "signal ", "by signal"),
            ),
            Form(
                "killed-by-signal",
                r"\b(?:signal: |killed by |received (?:signal )?|Signal )"
                r"(?P<said>SIG(?:KILL|SEGV|ILL|BUS|ABRT|FPE|TRAP|SYS|TERM)"
                r"|killed|segmentation fault|illegal instruction|bus error|aborted)\b",
                ("signal: ", "killed by sig", "received sig", "signal sig"),
            ),
            Form(
                "killed-by-signal",
                r"\bkilled by signal: (?P<said>Bus error|Segmentation fault|Killed|Aborted|"
                r"Illegal instruction)",
                ("killed by signal",),
            ),
        ),
    ),
    Voice(
        "launcher",
        (
            Form(
                "exit-status",
                r"(?i)\bexit ?codes?[\"')]{0,2}[ :=]{1,4}(?:of |is |was "
                r")?(?P<status>-?\d{1,10}|0x[0-9a-f]{6,8})\b"
                r"(?:[^\n]{0,60}?local_rank[: ]{1,3}(?P<rank>\d{1,4}))?",
                ("exitcode", "exit code"),
                level=Level.WRAPPER,
            ),
            Form(
                "exit-status",
                r"(?i)\b(?:exit(?:ed)?(?: with)? status|returned non-zero exit status|exited "
                r"with code|"
                r"process exited with(?: code)?|return ?code)[ :=]{1,3}(?:was "
                r")?(?P<status>-?\d{1,10}|0x[0-9a-f]{6,8})\b",
                ("exit status", "exited with", "returncode", "return code"),
                level=Level.WRAPPER,
            ),
            # Words of a user, or of docker ps, where the container printed nothing.
            Form(
                "exit-status",
                r"(?i)(?:\b(?:containers?|process|program|server|service|pod|job|worker|image|it|be"
                r"|to|always|immediately|instantly)|[后就:：])"
                r"\s{0,2}exit(?:s|ed|ing)? ?(?:due to |with )?"
                r"(?P<status>13[2-9])(?:[^\w.]|\.?$)|\bExited \((?P<status2>13[2-9])\) "
                r"|\bexit(?:ing|ed)? due to (?P<status3>13[2-9])\b",
                (
                    "exit 13",
                    "exits 13",
                    "exited 13",
                    "exiting 13",
                    "due to 13",
                    "exited (13",
                    "with 13",
                ),
                level=Level.WRAPPER,
            ),
            Form(
                "exit-status",
                r"died with <Signals\.(?P<said>SIG[A-Z]{2,6}): (?P<signal>\d{1,2})>",
                ("died with <signals",),
            ),
            Form(
                "windows-status",
                r"(?i)\b(?P<status>0xc0[0-9a-f]{6}|322\d{7}|-107\d{7})\b",
                ("0xc0", "3221", "3222", "-1073", "-1072"),
            ),
            Form(
                "windows-status",
                r"Windows fatal exception: (?:(?P<said>access violation|stack overflow)"
                r"|code (?P<status>0x[0-9a-fA-F]{8}))",
                ("windows fatal exception",),
            ),
            Form(
                "ranks-ended",
                r"(?:ChildFailedError|multiprocessing\.spawn\.ProcessExitedException): "
                r"?(?P<said>.{0,120})",
                ("childfailederror", "processexitedexception"),
                level=Level.WRAPPER,
            ),
        ),
    ),
    Voice(
        "Ray",
        (
            Form(
                "ray-worker-died",
                r"A worker died or was killed while executing a task|The actor died unexpectedly "
                r"before finishing|Worker unexpectedly exits with a connection error code",
                (
                    "a worker died or was killed",
                    "the actor died unexpectedly",
                    "worker unexpectedly exits",
                ),
                level=Level.WRAPPER,
            ),
        ),
    ),
    Voice(
        "kernel",
        (
            Form(
                "oom-killed",
                r"(?:Out of memory: Kill(?:ed)? process|oom-kill:|oom_reaper: reaped "
                r"process|Memory cgroup out of "
                r"memory: Kill(?:ed)? process) ?(?P<pid>\d{1,8})?(?: \((?P<process>[^)]{1,40})\))?"
                r"(?:.{0,80}anon-rss:(?P<used>\d+)kB)?",
                ("out of memory: kill", "oom-kill:", "oom_reaper:", "memory cgroup out"),
            ),
        ),
    ),
    Voice(
        "Slurm",
        (
            Form(
                "oom-killed",
                r"(?i)(?:slurmstepd|srun|slurm).{0,60}(?:oom[-_ ]kill|Out Of Memory|exceeded "
                r".{0,20}memory limit)",
                ("oom-kill", "oom_kill", "out of memory", "memory limit"),
            ),
            Form(
                "time-limit",
                r"(?:CANCELLED AT (?P<when>\S{5,30}) )?DUE TO TIME LIMIT",
                ("due to time limit",),
            ),
            Form(
                "slurm-ended",
                r"(?:CANCELLED AT \S{5,30} )?DUE TO (?P<why>PREEMPTION|NODE FAILURE|TASK "
                r"FAILURE|JOB REQUEUE)",
                ("due to preemption", "due to node failure", "due to job requeue"),
            ),
            Form(
                "slurm-gpu-request",
                r"(?P<said>Requested node configuration is not available|Invalid generic "
                r"resource \(gres\) "
                r"specification|Unable to allocate resources: [^\n]{3,120})",
                (
                    "requested node configuration",
                    "invalid generic resource",
                    "unable to allocate res",
                ),
            ),
        ),
    ),
    Voice(
        "Kubernetes",
        (
            Form("oom-killed", r"\bOOMKilled\b", ("oomkilled",)),
            Form(
                "pod-evicted",
                r"(?i)\bEvicted\b.{0,200}?(?:low on resource: (?P<resource>[\w-]{3,40}))?"
                r"|The node was low on resource: (?P<resource2>[\w-]{3,40})",
                ("evicted", "low on resource"),
            ),
            Form(
                "pod-restarts",
                r"\bCrashLoopBackOff\b|Back-off restarting failed container",
                ("crashloopbackoff", "back-off restarting"),
                level=Level.WRAPPER,
            ),
            Form(
                "gpu-not-scheduled",
                r"(?P<nodes>\d+/\d+) nodes are available.{0,80}Insufficient "
                r"(?P<resource>(?:nvidia|amd|gpu\.intel)\.com/[\w.-]{2,40})",
                ("insufficient nvidia", "insufficient amd", "insufficient gpu.intel"),
            ),
            Form(
                "image-not-pulled",
                r"(?:ImagePullBackOff|ErrImagePull)(?:.{0,60}image \"(?P<image>[^\"]{1,160})\")?",
                ("imagepullbackoff", "errimagepull"),
            ),
        ),
    ),
)
