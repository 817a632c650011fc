"""Errors of compilers of C, C++, CUDA and Rust, and programs that a build looks for.

GCC and Clang print `file:line:column: error: text`, nvcc's front end `file(line): error: text` and
Microsoft's compiler `file(line): error C1234: text`
(https://www.gnu.org/prep/standards/html_node/Errors.html,
https://learn.microsoft.com/en-us/visualstudio/msbuild/msbuild-diagnostic-format-for-tasks).
"""

from __future__ import annotations

from doctor.events.forms import Form, Voice

_FILE = r"(?P<file>(?:[A-Za-z]:)?[^\s:()\"'`,]{1,300})"
_ERROR = r"(?:fatal error|error|[Ff]ehler|erreur)"
_COLON = r"\s?:\s?"
_WORDS = (": error:", ": fatal error", " fehler:", " erreur")
_EDG = r"(?:catastrophic |fatal |internal )?error(?:\s#\d{1,5}(?:-D)?)?"
_REST = r"(?P<message>\S.{0,600})"
_PROGRAMS = (
    r"gcc|g\+\+|cc|c\+\+|cc1|cc1plus|lto-wrapper|lto1|clang|clang\+\+|clang-cl|icpx|icx"
    r"|x86_64-conda-linux-gnu-(?:cc|c\+\+|gcc|g\+\+)|(?:x86_64|aarch64)-linux-gnu-(?:gcc|g\+\+)"
)
_MISSING = (
    r"(?P<program>nvcc|cicc|ptxas|gcc|g\+\+|cc|c\+\+|clang|clang\+\+|cl|cl\.exe|link\.exe|ninja|make"
    r"|cmake|cargo|rustc|rustup|git|hipcc|ld|as|pkg-config|protoc|gfortran|nmake|nvcc\.exe|gmake"
    r"|which|ffmpeg)"
)

VOICES = (
    Voice(
        "the C++ compiler",
        (
            Form(
                "compile-error",
                rf"{_FILE}:(?P<row>\d{{1,7}}):(?:\d{{1,6}}:)? {_ERROR}{_COLON}{_REST}",
                _WORDS,
            ),
            Form(
                "compile-error",
                rf"(?:^|[\s/|])(?P<compiler>{_PROGRAMS})(?:-\d{{1,2}})?(?:\.exe)?: "
                rf"(?:internal compiler error|{_ERROR}){_COLON}{_REST}",
                (*_WORDS, "internal compiler error: "),
            ),
            Form(
                "compile-error",
                rf"{_FILE}:(?P<row>\d{{1,7}}):(?:\d{{1,6}}:)? internal compiler error: {_REST}",
                ("internal compiler error: ",),
            ),
            Form(
                "compile-error",
                r"(?P<compiler>collect2): fatal error: "
                r"(?P<message>(?:ld|lto1?) terminated .{1,80})",
                ("collect2: fatal error: ",),
            ),
            Form(
                "compile-error",
                r"(?P<message>cc1plus: out of memory allocating \d{1,20} bytes"
                r"|virtual memory exhausted: Cannot allocate memory|LLVM ERROR: out of memory)",
                ("out of memory allocating", "virtual memory exhausted", "llvm error: out of"),
            ),
        ),
    ),
    Voice(
        "nvcc",
        (
            Form(
                "compile-error",
                rf"{_FILE}\((?P<row>\d{{1,7}})(?:,\d{{1,6}})?\)\s?: {_EDG}: {_REST}",
                ("error: ", ": error #"),
            ),
            Form(
                "compile-error",
                rf"(?P<compiler>nvcc) (?:fatal|error)\s{{0,4}}: {_REST}",
                ("nvcc fatal", "nvcc error"),
            ),
            Form(
                "compile-error",
                r"ERROR: (?P<message>No supported gcc/g\+\+ host compiler found)",
                ("host compiler found",),
            ),
            Form(
                "compile-error",
                r"(?P<compiler>ptxas|nvlink|fatbinary|cicc) "
                r"(?:\S{1,300}, line \d{1,9}; )?(?:fatal|error)\s{0,4}: "
                r"(?P<message>[^P\s].{0,600}|P[^t].{0,600})",
                ("ptxas", "nvlink", "fatbinary", "cicc "),
            ),
            Form(
                "compile-error",
                r"(?P<message>'(?:cicc|ptxas|cudafe\+\+)' died (?:due to signal \d{1,2}"
                r"|with status 0x[0-9A-Fa-f]{8}).{0,60})",
                ("' died ",),
            ),
        ),
    ),
    Voice(
        "MSVC",
        (
            Form(
                "compile-error",
                rf"{_FILE}\((?P<row>\d{{1,7}})(?:,\d{{1,6}})?\)\s?: (?:fatal )?error "
                rf"(?P<code>[CD]\d{{4}})\s?: {_REST}",
                ("error c", "error d"),
            ),
            Form(
                "compile-error",
                rf"(?:cl|LINK|c1xx|c1|cl\.exe)\s?: (?:Command line |fatal )?error "
                rf"(?P<code>[CD]\d{{4}})\s?: {_REST}",
                ("error c", "error d"),
            ),
        ),
    ),
    Voice(
        "rustc",
        (
            Form(
                "compile-error",
                rf"^[\s|]{{0,12}}error\[(?P<code>E\d{{4}})\]: {_REST}",
                ("error[e",),
            ),
            Form(
                "compile-error",
                r"^error: (?P<message>\S.{0,600}?)\s{1,8}--> "
                r"(?P<place>\S{1,300}?):\d{1,7}:\d{1,6}$",
                ("error: ",),
                joined=True,
            ),
            Form(
                "rust-release",
                r"package `(?P<package>[\w-]{1,80} v[\w.+-]{1,40})`.{0,300}"
                r"requires rustc (?P<wanted>\d[\w.]{1,20}) or newer"
                r".{0,80}version is (?:`?rustc )?(?P<running>\d[\w.-]{1,20})",
                ("requires rustc",),
            ),
            Form(
                "rust-release",
                r"rustc (?P<running>\d[\w.-]{1,20}) is not supported by the following packages?:"
                r"(?:\s{1,8}(?P<package>[\w@.+-]{1,80}) requires rustc (?P<wanted>\d[\w.]{1,20}))?",
                ("is not supported by the following package",),
                joined=True,
            ),
            Form(
                "rust-release",
                r"feature `(?P<feature>edition20\d\d|\w{1,40})` is required",
                ("` is required",),
            ),
            Form(
                "rust-release",
                r"lock file version `?(?P<lock>\d)`? (?:requires|was found)",
                ("lock file version",),
            ),
            Form(
                "rust-release",
                r"this version of Cargo is older than the `(?P<edition>20\d\d)` edition",
                ("this version of cargo is older",),
            ),
            Form(
                "program-missing",
                r"linker `(?P<program>[\w.+-]{1,60})` not found",
                ("linker `",),
            ),
            Form(
                "rust-target-missing",
                r"can't find crate for `(?P<crate>std|core)`",
                ("can't find crate for",),
            ),
            Form(
                "libclang-missing",
                r"Unable to find libclang",
                ("unable to find libclang",),
            ),
            Form(
                "program-missing",
                r"Could not find `(?P<program>protoc)`",
                ("could not find `protoc`",),
            ),
            Form(
                "system-package-missing",
                r"The system library `(?P<library>[\w.+-]{1,60})` required by crate "
                r"`(?P<package>[\w-]{1,60})` was not found",
                ("required by crate",),
            ),
            Form(
                "system-package-missing",
                r"Could not find (?:directory of (?P<library>OpenSSL) installation)",
                ("could not find directory of openssl",),
            ),
            Form(
                "program-missing",
                r"can't find Rust compiler|(?P<program>cargo), the Rust package manager, is not "
                r"installed",
                ("can't find rust compiler", "the rust package manager, is not installed"),
            ),
        ),
    ),
    Voice(
        "the shell",
        (
            Form(
                "program-missing",
                rf"(?:^|[\s:/]){_MISSING}: (?:command not found|[Cc]ommand not found|not found"
                r"|No such file or directory)(?:$|[\s\]])",
                (": command not found", ": not found", ": no such file or directory"),
            ),
            Form(
                "program-missing",
                rf"['`]{_MISSING}[''`] is not recognized as an internal or external command",
                ("is not recognized as an internal",),
            ),
            Form(
                "program-missing",
                r"(?:cannot execute|error trying to exec) '(?P<program>cc1plus|cc1)'",
                ("cannot execute", "error trying to exec"),
            ),
            Form(
                "program-missing",
                rf"The term ['`]{_MISSING}[''`] is not recognized",
                ("is not recognized as",),
            ),
            Form(
                "program-missing",
                r"No such file or directory: ['\"](?P<path>(?:[^'\"\s]{0,200}[/\\])?"
                rf"{_MISSING})['\"]",
                ("no such file or directory: ",),
            ),
            Form(
                "program-missing",
                r"(?:unable to execute|command) ['\"](?P<path>(?:[^'\"]{0,200}[/\\])?"
                rf"(?:x86_64-linux-gnu-)?{_MISSING})['\"](?: failed)?: "
                r"(?:No such file or directory|None$)",
                ("no such file or directory", "failed: none"),
            ),
            Form(
                "program-missing",
                r"Microsoft Visual C\+\+ (?P<release>\d{2}\.\d) (?:or greater )?is required"
                r"|Unable to find (?P<script>vcvarsall\.bat)"
                r"|Error checking compiler version for (?P<program>cl)",
                (
                    "microsoft visual c++ 1",
                    "unable to find vcvarsall",
                    "error checking compiler version for cl",
                ),
            ),
        ),
    ),
)
