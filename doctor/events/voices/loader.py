"""Dynamic loaders: ld.so(8) of glibc and musl, dyld(1) of macOS, LoadLibrary of Windows.

The texts of Windows's numbers stand in its system error codes
(https://learn.microsoft.com/en-us/windows/win32/debug/system-error-codes); Python prints them in
the language of the system.
"""

from __future__ import annotations

from doctor.events.forms import Form, Voice
from doctor.model.events import Level

_PATH = r"(?P<file>[^\s:;'\"()]{1,300})"
_SONAME = r"(?P<library>[\w+-][\w.+-]{0,120}\.so[\w.]{0,20})"
_UNUSABLE = (
    r"(?P<why>file too short|invalid ELF header|wrong ELF class: ELFCLASS\d\d"
    r"|ELF load command (?:alignment not page-aligned|past end of file)|ELF file OS ABI invalid"
    r"|cannot enable executable stack as shared object requires(?:: [A-Z][\w ]{1,40})?"
    r"|failed to map segment from shared object(?:: [A-Z][\w ]{1,40})?"
    r"|cannot allocate memory in static TLS block"
    r"|only ET_DYN and ET_EXEC can be loaded|cannot open shared object file: Permission denied"
    r"|cannot open shared object file: Too many open files)"
)
_NOT_A_MODULE = "The specified module could not be found"
_NOT_A_PROCEDURE = "The specified procedure could not be found"
_DLL = r"DLL load failed(?: while importing (?P<module>[\w.]{1,80}))?"
_LOADING = r"(?:.{0,300}Error loading [\"'](?P<file>[^\"']{1,300})[\"'])?"
_WINDOWS_WORDS = ("dll load failed", "winerror", "loadlibrary failed")

VOICES = (
    Voice(
        "ld.so",
        (
            Form(
                "undefined-symbol",
                rf"(?:{_PATH}: )?undefined symbol: (?P<symbol>[\w.$@]{{1,1000}})"
                r"(?:, version (?P<version>[\w.]{1,60}))?",
                ("undefined symbol: ",),
            ),
            Form(
                "undefined-symbol",
                rf"(?:{_PATH}: )?symbol (?P<symbol>[\w.$]{{1,1000}}),? version (?P<version>[\w.]"
                r"{1,60}) not defined in file (?P<library>[\w.+-]{1,120}) with link time reference",
                ("with link time reference",),
            ),
            Form(
                "undefined-symbol",
                rf"Error relocating {_PATH}: (?P<symbol>[\w.$@]{{1,1000}}): symbol not found",
                ("error relocating",),
            ),
            Form(
                "library-not-found",
                rf"Could not load dynamic library '{_SONAME}'; dlerror: (?P<why>.{{1,200}}?)"
                r"(?:; LD_LIBRARY_PATH: (?P<searched>\S{1,600}))?\s?$",
                ("could not load dynamic library",),
                level=Level.WARNING,
            ),
            Form(
                "library-not-found",
                r"Could not load dynamic library '(?P<library>[\w.+-]{1,120}\.dll)'; dlerror: "
                r"(?P<why>.{1,200}?)\s?$",
                ("could not load dynamic library",),
                level=Level.WARNING,
            ),
            Form(
                "library-unusable",
                rf"{_PATH}: {_UNUSABLE}",
                (
                    *(
                        "file too short",
                        "invalid elf header",
                        "wrong elf class",
                        "elf load command",
                    ),
                    *("elf file os abi", "cannot enable executable stack", "failed to map segment"),
                    *("static tls block", "only et_dyn", "object file: permission denied"),
                    "object file: too many open",
                ),
            ),
            Form(
                "library-not-found",
                rf"{_SONAME}: cannot open shared object file(?:: No such file or directory|\s?$"
                r"|[^:])",
                ("cannot open shared object file",),
            ),
            Form(
                "library-not-found",
                rf"Error loading shared library {_SONAME}: No such file or directory"
                r"(?: \(needed by (?P<file>[^\s)]{1,300})\))?",
                ("error loading shared library",),
            ),
            Form(
                "library-not-found",
                rf"Could not load library {_SONAME}\. Error: "
                r"(?:[\w.+-]{1,120}: cannot open shared object file|[^:]{1,80}$)",
                ("could not load library",),
            ),
            Form(
                "library-not-found",
                rf"Unable to load any of \{{{_SONAME}(?P<others>[^}}]{{0,300}})\}}",
                ("unable to load any of",),
            ),
            Form(
                "library-not-found",
                r"(?P<library>lib[\w+-]{1,60}\.so[\w.]{0,20}) cannot found!",
                ("cannot found!",),
            ),
            Form(
                "library-not-found",
                r"Unable to dynamically load the \"(?P<library>[\w+-]{1,60})\" shared library"
                r"(?: - searched for library names: \[(?P<others>[^\]]{0,300})\])?",
                ("unable to dynamically load the",),
            ),
            Form(
                "library-not-found",
                r"Unable to load (?P<library>cuSPARSE|cuDNN|cuBLAS|cuFFT|cuSOLVER|CUPTI)\. Is it "
                r"installed\?",
                ("is it installed?",),
            ),
            Form(
                "library-not-found",
                r"Invalid handle\. Cannot load symbol (?P<symbol>\w{1,80})",
                ("cannot load symbol",),
            ),
            Form(
                "symbol-version-missing",
                r"(?P<library>[^\s'\"]{0,250}?lib(?:c|m|dl|pthread|rt|stdc\+\+|gcc_s|gomp|gfortran)"
                r"(?:-\d\.\d{1,2})?\.so(?:\.\d)?): version [`'](?P<version>(?:GLIBC|GLIBCXX|CXXABI"
                r"|GCC|GOMP|GFORTRAN)_[\d.A-Z]{1,20})['] not found"
                r"(?: \(required by (?P<file>[^)]{1,300})\))?",
                ("' not found",),
            ),
            # A console broke the line behind the version.
            Form(
                "symbol-version-missing",
                r"(?P<library>[^\s'\"]{0,250}?lib(?:c|m|stdc\+\+)\.so\.\d): version "
                r"[`'](?P<version>(?:GLIBC|GLIBCXX|CXXABI)_[\d.]{1,20})[']\s{0,4}$",
                ("version `glibc", "version `cxxabi"),
            ),
            Form(
                "symbol-version-missing",
                r"[`'\"]?(?P<version>(?:GLIBC|GLIBCXX|CXXABI)_[\d.]{1,20})['\"]? not found",
                ("' not found", "glibc_", "glibcxx_"),
            ),
        ),
    ),
    Voice(
        "conda",
        (),
    ),
    Voice(
        "dyld",
        (
            Form(
                "library-not-found",
                r"Library not loaded: (?P<path>\S{1,300}/)?(?P<library>[^\s/]{1,120})",
                ("library not loaded: ",),
            ),
            Form(
                "undefined-symbol",
                r"[Ss]ymbol not found(?: in flat namespace)?:? [(']?(?P<symbol>_[\w$.]{1,1000})"
                r"(?:.{0,20}Referenced from: (?:<[\w-]{1,60}> )?(?P<file>\S{1,300}))?",
                ("symbol not found",),
                joined=True,
            ),
            Form(
                "wrong-architecture",
                r"(?:(?P<file>/[^\s'(,]{1,300})['\s]{0,3})?\(mach-o file, but is an incompatible "
                r"architecture \(have '?(?P<have>[\w,]{1,40})'?, need '?(?P<need>[\w,]{1,40})'?\)",
                ("incompatible architecture",),
            ),
            Form(
                "wrong-architecture",
                r"no suitable image found|mach-o, but wrong architecture",
                ("mach-o, but wrong architecture",),
            ),
            Form(
                "library-unusable",
                rf"(?:{_PATH}.{{0,80}})?(?P<why>code signature (?:invalid|in .{{1,300}} not valid)"
                r"|library load disallowed by system policy"
                r"|mapped file has no cdhash, completely unsigned)",
                ("code signature", "disallowed by system policy", "completely unsigned"),
            ),
        ),
    ),
    Voice(
        "Windows loader",
        (
            Form(
                "library-not-found",
                rf"{_DLL}: ?(?:{_NOT_A_MODULE})",
                ("dll load failed",),
            ),
            Form(
                "library-not-found",
                rf"\[WinError 126\]{_LOADING}",
                ("winerror 126",),
            ),
            Form(
                "library-not-found",
                r"Could not find module '(?P<file>[^']{1,300})' \(or one of its dependencies\)",
                ("or one of its dependencies",),
            ),
            Form(
                "library-not-found",
                r"LoadLibrary\w{0,3} failed with error 126.{0,40}when trying to load "
                r"[\"'](?P<file>[^\"']{1,300})",
                ("failed with error 126",),
            ),
            Form(
                "library-not-found",
                r"Could not (?:load library|locate|find) '?(?P<library>[\w.+-]{1,80}\.dll)",
                ("could not load library", "could not locate", "could not find '"),
            ),
            Form(
                "library-not-found",
                r"[Tt]he code execution cannot proceed because (?P<library>[\w.+-]{1,80}\.dll) "
                r"was not found",
                ("the code execution cannot proceed",),
            ),
            Form(
                "dll-function-missing",
                rf"{_DLL}: ?(?:{_NOT_A_PROCEDURE})",
                ("dll load failed",),
            ),
            Form(
                "dll-function-missing",
                rf"\[WinError 127\]{_LOADING}|LoadLibrary\w{{0,3}} failed with error 127",
                ("winerror 127", "failed with error 127"),
            ),
            Form(
                "dll-function-missing",
                r"The procedure entry point (?P<symbol>\S{1,900}) could not be located in the "
                r"dynamic link library (?P<file>\S{1,300})",
                ("the procedure entry point",),
            ),
            Form(
                "dll-start-failed",
                rf"(?:\[WinError 1114\]{_LOADING}|{_DLL}: ?(?:A dynamic link library \(DLL\) "
                r"initialization routine failed)"
                r"|LoadLibrary\w{0,3} failed with error 1114)",
                _WINDOWS_WORDS,
            ),
            Form(
                "page-file",
                rf"(?:\[WinError 1455\]|The paging file is too small){_LOADING}",
                ("winerror 1455", "paging file is too small"),
            ),
            Form(
                "wrong-architecture",
                rf"(?:\[WinError 193\]{_LOADING}|{_DLL}: ?%1 is not a valid Win32 application"
                r"|LoadLibrary\w{0,3} failed with error 193)",
                _WINDOWS_WORDS,
            ),
            Form(
                "library-unusable",
                r"\[WinError (?:5|4551|577|225)\] (?P<why>[^.\r\n]{1,120}).{0,10}Error loading "
                r"[\"'](?P<file>[^\"']{1,300})",
                ("error loading",),
            ),
            Form(
                "library-unusable",
                rf"{_DLL}: ?(?P<why>Access is denied"
                r"|An Application Control policy has blocked this file)",
                ("dll load failed",),
            ),
        ),
    ),
)
