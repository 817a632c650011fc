"""Compilers, link editors and build tools: their general forms, and who reports about whom."""

from __future__ import annotations

from doctor.events.forms import Form, Voice
from doctor.model.events import Level

VOICES = (
    Voice(
        "the C++ compiler",
        (
            Form(
                "compile-error",
                r"(?P<file>[^\s:()]{1,300}):(?P<at>\d{1,7})(?::\d{1,6})?: (?:fatal )?error: (?P<me"
                r"ssage>.{1,500})",
                ("error: ",),
                general=True,
            ),
            Form(
                "compile-error",
                r"\b(?P<tool>(?:[\w.-]{1,60}-)?(?:gcc|g\+\+|c\+\+|cc1plus|cc1|cc|clang"
                r"|clang\+\+)(?:-[\d.]{1,6})?"
                r"(?:\.exe)?): (?:fatal |internal compiler )?error: (?P<message>.{1,400})",
                ("error: ",),
                general=True,
            ),
            Form(
                "compiler-killed",
                r"(?P<tool>[\w+.-]{1,60}): (?:fatal error|internal compiler error): (?:Killed"
                r"|Terminated) signal"
                r" terminated program (?P<program>\w{1,40})",
                ("terminated program",),
            ),
        ),
    ),
    Voice(
        "nvcc",
        (
            Form(
                "compile-error",
                r"(?P<file>[^\s()]{1,300})\((?P<at>\d{1,7})\): (?:fatal "
                r"|catastrophic )?error(?: #[\w-]{1,12})?: "
                r"(?P<message>.{1,500})",
                ("error: ", "error #"),
                general=True,
            ),
            Form(
                "compile-error",
                r"\bnvcc (?:fatal|error) {0,6}: ?(?P<message>.{1,400})",
                ("nvcc fatal", "nvcc error"),
                general=True,
            ),
            Form(
                "compile-error",
                r"\b\d{1,5} errors? detected in the compilation of",
                ("detected in the compilation of",),
                Level.WRAPPER,
            ),
        ),
    ),
    Voice(
        "ptxas",
        (
            Form(
                "compile-error",
                r"\b(?:ptxas|nvlink|fatbinary|cicc)(?:\.exe)? [^:]{0,200}?(?:fatal"
                r"|error) {0,4}: ?(?P<message>.{1,400})",
                (
                    "ptxas fatal",
                    "ptxas error",
                    "; fatal ",
                    "; error ",
                    "nvlink fatal",
                    "nvlink error",
                ),
                general=True,
            ),
        ),
    ),
    Voice(
        "MSVC",
        (
            Form(
                "compile-error",
                r"(?P<file>[^\s()][^()\n]{0,300})\((?P<at>\d{1,7})(?:,\d{1,5})?\) ?: (?:fatal )?er"
                r"ror (?P<code>[A-Z]{1,3}\d{4})"
                r"(?:: (?P<message>.{1,400}))?",
                ("error c", "error msb", "error d"),
                general=True,
            ),
            Form(
                "link-error",
                r"(?:fatal )?error (?P<code>LNK\d{4}): (?P<message>.{1,400})",
                ("error lnk",),
                general=True,
            ),
            Form(
                "compile-error",
                r"\b(?:cl|link)(?:\.exe)? ?: [Cc]ommand line error (?P<code>D\d{4})(?:: (?P<messag"
                r"e>.{1,300}))?",
                ("command line error",),
                general=True,
            ),
        ),
    ),
    Voice(
        "rustc",
        (
            Form(
                "compile-error",
                r"^\s{0,8}error\[(?P<code>E\d{4})\]: (?P<message>.{1,400})",
                ("error[e",),
                general=True,
            ),
            Form(
                "compile-error",
                r"^\s{0,8}error: linking with `(?P<tool>[^`]{1,80})` failed",
                ("error: linking with",),
                Level.WRAPPER,
            ),
            Form(
                "compile-error",
                r"aborting due to (?:\d{1,5} )?(?:previous )?errors?",
                ("aborting due to",),
                Level.WRAPPER,
            ),
        ),
    ),
    Voice(
        "a Rust program",
        (
            Form(
                "panic",
                r"thread '[^']{1,80}'(?: \(\d{1,9}\))? panicked at ['`]?(?P<message>.{0,400})",
                ("panicked at",),
                general=True,
                joined=True,
            ),
            Form(
                "error-value",
                r"(?:^|\s)Error: (?P<message>[A-Z]\w{1,40}\(.{1,400})",
                ("error: ",),
                general=True,
            ),
        ),
    ),
    Voice(
        "cargo",
        (
            Form(
                "build-failed",
                r"could not compile `(?P<crate>[^`]{1,80})`"
                r"|failed to run custom build command(?: for `(?P<package>[^`]{1,80})`)?"
                r"|process didn't exit successfully|build failed, waiting",
                (
                    "could not compile `",
                    "failed to run custom build",
                    "process didn't exit",
                    "build failed, waiting",
                ),
                Level.WRAPPER,
            ),
            Form(
                "cargo-error",
                r"^\s{0,8}error: (?P<message>(?:failed to|no matching package|package `"
                r"|the package|could not find `Cargo).{1,300})",
                (
                    "error: failed to ",
                    "error: no matching",
                    "error: package",
                    "error: the package",
                    "could not find `cargo",
                ),
                general=True,
            ),
        ),
    ),
    Voice(
        "cmake",
        (
            Form(
                "configure-error",
                r"CMake Error(?: at (?P<file>[^\s:]{1,300}):(?P<at>\d{1,7}) \((?P<command>\w{1,60}"
                r")\))?:\s{0,8}(?P<message>.{0,500})",
                ("cmake error",),
                joined=True,
                general=True,
            ),
            Form(
                "configure-incomplete",
                r"Configuring incomplete, errors occurred",
                ("configuring incomplete",),
                Level.WRAPPER,
            ),
        ),
    ),
    Voice(
        "ninja",
        (
            Form(
                "build-stopped", r"ninja: build stopped", ("ninja: build stopped",), Level.WRAPPER
            ),
            Form(
                "build-stopped",
                r"^\s{0,8}FAILED: (?P<file>\S.{0,300})",
                ("failed: ",),
                Level.WRAPPER,
            ),
            Form(
                "build-not-configured",
                r"ninja: error: loading '(?P<file>build\.ninja)': No such file or directory",
                ("loading 'build.ninja'",),
            ),
            Form(
                "ninja-error",
                r"ninja: (?:error|fatal): (?P<message>.{1,300})",
                ("ninja: ",),
                general=True,
            ),
        ),
    ),
    Voice(
        "make",
        (
            Form(
                "no-rule",
                r"make(?:\[\d{1,4}\])?: \*\*\* No rule to make target (?P<message>.{1,300})",
                ("no rule to make target",),
                general=True,
            ),
            Form(
                "build-stopped",
                r"make(?:\[\d{1,4}\])?: \*\*\* ",
                (": *** ",),
                Level.WRAPPER,
            ),
            Form(
                "command-missing",
                r"make: (?P<message>\S{1,200}: (?:Command not found|No such file).{0,100})",
                ("make: ",),
                general=True,
            ),
        ),
    ),
    Voice(
        "the linker",
        (
            Form(
                "link-error",
                r"undefined reference to [`'\"]?(?P<symbol>[^`'\"\n]{1,400})",
                ("undefined reference to",),
                general=True,
            ),
            Form(
                "link-error",
                r"(?:cannot find -l|library not found for -l"
                r"|unable to find library -l)(?P<library>[\w.+:-]{1,100})",
                ("cannot find -l", "library not found for -l", "unable to find library -l"),
                general=True,
            ),
            Form(
                "link-error",
                r"\b(?:ld|ld\.lld|ld\.gold|ld64|mold|lld)(?:\.exe)?: (?:fatal "
                r"|error: )?(?P<message>(?:cannot|could not|symbol|Undefined|"
                r"unknown|relocation|final link|file not|skipping|unrecognized|undefined).{1,300})",
                ("ld: ", "lld: ", "mold: "),
                general=True,
            ),
            Form(
                "link-error",
                r"Undefined symbols for architecture (?P<machine>\w{1,20})",
                ("undefined symbols for architecture",),
                general=True,
            ),
            Form(
                "link-failed",
                r"(?:ld|linker command failed|clang[\w+.-]{0,20}: error: linker).{0,40}(?:returned"
                r"|with) exit (?:status|code)"
                r"|collect2: (?:fatal )?error",
                ("exit status", "exit code", "collect2"),
                Level.WRAPPER,
            ),
        ),
    ),
)
