"""Python, and what libraries in a Python process report of each other's failure."""

from __future__ import annotations

from doctor.events.forms import Form, Voice
from doctor.model.events import Level

_TYPE = (
    r"(?P<type>[A-Za-z_][\w.]{0,160}?(?:Error|Exception|OutOfResources|Interrupt|Unsupported"
    r"|Timeout"
    r"|ShardCannotStart|Exit))"
)

VOICES = (
    Voice(
        "Python",
        (
            Form(
                "exception",
                r"(?:^|[\s`'\"#>*(\[:])"
                + _TYPE
                + r"(?:\[[\w., ]{1,80}\])?: ?(?P<message>\S.{0,600})",
                ("error", "exception", "outofresources", "interrupt", "unsupported", "timeout"),
                general=True,
            ),
            # A logger that leaves the type out.
            Form(
                "exception",
                r"(?i)\b(?:failure|failed|error)\b.{0,80}: "
                r"(?P<message>name '\w{1,60}' is not defined)",
                ("' is not defined",),
                general=True,
            ),
            Form(
                "exception",
                r"^\s{0,40}" + _TYPE + r":?\s{0,200}$",
                ("error", "exception", "interrupt"),
                general=True,
            ),
            Form(
                "exception",
                r"^\s{0,40}" + _TYPE + r": ?$",
                ("error", "exception"),
                general=True,
            ),
            Form(
                "raise-statement",
                r"\braise (?:[\w.]{1,80}\.)?" + _TYPE + r"\((?P<message>.{0,200})",
                ("raise ",),
                general=True,
            ),
            Form(
                "interpreter-error",
                r"Fatal Python error: (?P<message>.{1,300})",
                ("fatal python error",),
                general=True,
            ),
            Form(
                "interpreter-error",
                r"(?:can't open file|can't find '__main__' module in) (?P<file>.{1,200})",
                ("can't open file", "can't find '__main__'"),
                general=True,
            ),
            Form(
                "module-missing",
                r"No module named ['\"]?(?P<module>[\w.]{1,120})",
                ("no module named",),
                general=True,
            ),
            Form(
                "ignored-exception",
                r"Exception ignored in:? |Error in sys\.excepthook|Error in atexit\._run_exitfuncs"
                r"|Exception in thread QueueManagerThread",
                ("exception ignored in", "sys.excepthook", "atexit._run"),
                Level.WRAPPER,
            ),
            Form(
                "process-failed",
                r"\bCalledProcessError\b|returned non-zero exit status (?P<status>-?\d{1,6})",
                ("calledprocesserror", "returned non-zero exit status"),
                Level.WRAPPER,
            ),
            Form(
                "process-failed",
                r"(?:BrokenProcessPool|ProcessRaisedException|ProcessExitedException"
                r"|RemoteTraceback"
                r"|joblib\.externals\.loky)",
                ("brokenprocesspool", "processraisedexception", "processexitedexception", "loky"),
                Level.WRAPPER,
            ),
            Form(
                "peer-gone",
                r"\b(?:BrokenPipeError|ConnectionResetError|ConnectionAbortedError|EOFError)\b",
                ("brokenpipeerror", "connectionreseterror", "connectionabortederror", "eoferror"),
                Level.WRAPPER,
            ),
            Form(
                "import-failed",
                r"Failed to import (?P<module>[\w.]{1,200}) because of the following error",
                ("because of the following error",),
                Level.WRAPPER,
            ),
        ),
    ),
    Voice(
        "pybind11",
        (
            Form(
                "binding-error",
                r"\(\): incompatible (?:function|constructor) arguments"
                r"|generic_type: (?P<message>.{1,300})|Unable to cast Python instance",
                ("incompatible ", "generic_type: ", "unable to cast python"),
                general=True,
            ),
        ),
    ),
    Voice(
        "setuptools",
        (
            Form(
                "command-failed",
                r"(?i)^\s{0,20}error: (?:command '?.{1,400}'? (?:failed|terminated)"
                r"|subprocess-exited)"
                r"|DistutilsExecError|CompileError: command|LinkError: command",
                (
                    "error: command ",
                    "error: subprocess-exited",
                    "compileerror: ",
                    "linkerror: ",
                    "distutilsexecerror",
                ),
                Level.WRAPPER,
            ),
            Form(
                "extension-not-built",
                r"Error (?:compiling objects for|building) extension",
                ("error compiling objects", "error building extension"),
                Level.WRAPPER,
            ),
        ),
    ),
    Voice(
        "torch.compile",
        (
            Form(
                "compile-failed",
                r"BackendCompilerFailed|PassManager::run failed|LoweringException",
                ("backendcompilerfailed", "passmanager::run", "loweringexception"),
                Level.WRAPPER,
            ),
            Form(
                "compile-error",
                r"torch\._(?:dynamo|inductor)[\w.]{0,80}\.(?P<type>\w{1,60}): (?P<message>.{1,400}"
                r")",
                ("torch._dynamo.exc", "torch._inductor"),
                general=True,
            ),
        ),
    ),
    Voice(
        "Triton",
        (
            Form(
                "compile-error",
                r"\btriton\.[\w.]{1,80}\.(?P<type>\w{1,60}): ?(?P<message>.{0,400})"
                r"|Triton Error \[\w{1,8}\]: "
                r"(?P<text>.{1,300})",
                ("triton.", "triton error"),
                general=True,
            ),
        ),
    ),
)
