"""Options that a compiler does not know, and functions that a platform does not have."""

from __future__ import annotations

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.machine import excerpt, system_of
from doctor.base.patterns import compile_pattern
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe, Snippet

_UNKNOWN = (
    r"unrecognized command[- ]line option [‘'\"](?P<gcc>-[^’'\"]{1,120})[’'\"]"
    r"|unknown argument:? '(?P<clang>-[^']{1,120})'"
    r"|unsupported option '(?P<apple>-[^']{1,120})'"
    r"|unsupported argument '(?P<value>[^']{1,60})' to option '(?P<of>-[^']{1,60})'"
    r"|the clang compiler does not support '(?P<target>-m[^']{1,120})'"
    r"|Unknown option '(?P<nvcc>[^']{1,120})'"
    r"|bad value \(?[‘'](?P<bad>[^’']{1,60})[’']\)? for [‘'](?P<switch>-m\w{1,20}=?)[’']"
    r"|(?:invalid numeric argument|ignoring unknown option) '(?P<cl>[/-][^']{1,120})'"
)
_FEATURE = (
    r"invalid feature modifier(?: [‘'][^’']{1,60}[’'])? in "
    r"[‘'](?P<flag>-m(?:arch|cpu)=[^’']{1,80})[’']"
)
_POSIX_NAMES = (
    r"[‘'\"](?P<name>localtime_r|gmtime_r|ssize_t|posix_memalign|aligned_alloc|strcasecmp|strndup"
    r"|getpid|usleep|uint|u_int32_t|__attribute__|mmap|munmap|dlopen"
    r"|dlsym|getopt|gettimeofday|clock_gettime|CLOCK_MONOTONIC|sysconf|setenv|unsetenv|popen|fileno"
    r"|__int128|pthread_t|pthread_create|__PRETTY_FUNCTION__|bzero|rand_r|drand48|isatty|and|or|not)"
    r"[’'\"]?:? (?:identifier not found|undeclared identifier|is undefined|not found)"
)
_POSIX_HEADERS = (
    r"(?:[Nn]o such file or directory|Cannot open include file|cannot open source file)?.{0,30}"
    r"(?P<header>unistd\.h|sys/(?:time|mman|socket|ioctl|wait|resource|uio|un|sysinfo|ipc|shm)\.h"
    r"|dlfcn\.h|pthread\.h|netinet/\w{1,20}\.h|arpa/inet\.h|execinfo\.h|strings\.h|linux/\w{1,30}\.h"
    r"|sched\.h|poll\.h|alloca\.h|endian\.h|byteswap\.h|getopt\.h)"
)


def option(case: Case, event: Event) -> Explanation | None:
    """Explain an unknown option, or sources that are written for another system."""
    message = event.objects.get("message", "")
    if match := compile_pattern(_UNKNOWN).search(message):
        return _unknown(case, event, dict(match.groups))
    if match := compile_pattern(_FEATURE).search(message):
        return _old_for_arm(event, match.groups["flag"])
    if event.speaker != "MSVC":
        return None
    if match := compile_pattern(_POSIX_HEADERS).search(message):
        return _posix(event, f"the header {match.groups['header']}")
    if match := compile_pattern(_POSIX_NAMES).search(message):
        return _posix(event, match.groups["name"])
    return None


def _unknown(case: Case, event: Event, groups: dict[str, str]) -> Explanation:
    flag = next(
        (
            groups[name]
            for name in ("gcc", "clang", "apple", "target", "nvcc", "cl")
            if groups.get(name)
        ),
        "",
    )
    if groups.get("of"):
        flag = groups["of"] + groups["value"]
    if groups.get("switch"):
        flag = groups["switch"] + groups["bad"]
    compiler = event.objects.get("compiler") or event.speaker
    openmp = "openmp" in flag
    if openmp and (system_of(case, event) == "macos" or groups.get("apple")):
        return _apple_openmp(event)
    if flag == "-march=native" and (groups.get("value") or groups.get("target")):
        return _native(case, event, compiler)
    if flag.startswith(_FOR_PROCESSORS):
        return _built_for_others(event, compiler, flag)
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{compiler} does not know the option {excerpt(flag, 60)}",
            _why_unknown(compiler, flag),
            recipes=(
                Recipe(
                    title=f"Take {excerpt(flag, 60)} out of the flags of the build",
                    use_if=("the flag stands in the build script, CFLAGS, CXXFLAGS or NVCC_*",),
                    snippet=Snippet(
                        where="the setup.py, or the CMakeLists.txt, of the package",
                        before=excerpt(flag, 60),
                        after="",
                    ),
                    lasting=False,
                ),
            ),
            name="compiler-option-unknown",
        ),
    )


def _old_for_arm(event: Event, flag: str) -> Explanation:
    """Explain a gcc that is older than the instructions of this ARM processor."""
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"gcc is too old for the instructions that the build asks for: {excerpt(flag, 60)}",
            "What follows the sign + are groups of instructions of ARM. gcc 7 does not know "
            "dotprod, gcc 9 neither bf16 nor i8mm, so the build for this processor stops.",
            recipes=(
                Recipe(
                    title="Build with gcc 12",
                    use_if=("apt has it: Ubuntu 22.04, Debian 12 and newer",),
                    steps=(
                        Action(run=("apt-get", "install", "-y", "gcc-12", "g++-12"), sudo=True),
                        Action(env={"CC": "gcc-12", "CXX": "g++-12"}),
                    ),
                    note="Remove the folder of the failed build, then build again.",
                ),
                Recipe(
                    title="Build with a newer gcc from conda-forge",
                    use_if=("conda is used", "the system is too old for gcc 12"),
                    steps=(
                        Action(
                            run=(
                                *("conda", "install", "-y", "-c", "conda-forge"),
                                "gxx_linux-aarch64=12",
                            )
                        ),
                    ),
                    note="Activate the environment again, so that CC and CXX point to it.",
                ),
            ),
            name="compiler-too-old-for-processor",
        ),
    )


_FOR_PROCESSORS = (
    "-march",
    "-mcpu",
    "-mtune",
    "-mavx",
    "-mfma",
    "-mf16c",
    "-msse",
    "-mamx",
    "-mfpu",
)
"""Options that name a processor, or a group of instructions that only some processors have."""


def _built_for_others(event: Event, compiler: str, flag: str) -> Explanation:
    """Explain an option that names a processor of another kind than the compiler's."""
    short = excerpt(flag, 60)
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{compiler} does not know the option {short}: the build is set for another processor",
            _why_unknown(compiler, flag),
            recipes=(
                Recipe(
                    title="Tell the build which processor this is, or let it ask the compiler",
                    use_if=("the build has a switch for ARM or for portable code",),
                    steps=(
                        Action(run=("grep", "-rnE", "march|mcpu|mavx|armv8|arm64|aarch64", ".")),
                    ),
                    note="In the folder of the sources: Makefile, CMakeLists.txt, setup.py and "
                    "README show the name of the switch, such as armv8=1 or -DGGML_NATIVE=OFF.",
                    lasting=False,
                ),
                Recipe(
                    title=f"Put this processor in the place of {short}",
                    use_if=("the flag stands in the build script, CFLAGS, CXXFLAGS or NVCC_*",),
                    snippet=Snippet(
                        where="the Makefile, the setup.py, or the CMakeLists.txt, of the package",
                        before=short,
                        after="-mcpu=native",
                    ),
                    note="On x86 it is -march=native. -mavx, -msse and __AVX2__ are of x86 alone: "
                    "leave them out on ARM.",
                    lasting=False,
                ),
            ),
            name="compiler-option-unknown",
        ),
    )


_ONE_KIND = "{host.machine|<processor>}"


def _native(case: Case, event: Event, compiler: str) -> Explanation:
    """Explain -march=native, which Apple's clang takes for Intel alone, and for one processor.

    A Python for both kinds of Mac has clang compile for both at once, unless ARCHFLAGS names one.
    """
    package = next(
        (one.objects["package"] for one in case.of("build-failed") if one.objects.get("package")),
        "",
    )
    own = "hnsw" in package.lower()
    install = Action(
        install=(package or "<package>",),
        options=(Option.NO_CACHE,),
        env={"ARCHFLAGS": f"-arch {_ONE_KIND}", **({"HNSWLIB_NO_NATIVE": "1"} if own else {})},
    )
    ask = {"processor": "what uname -m prints, arm64 or x86_64"}
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{compiler} takes no -march=native here, and the build script of "
            f"{package or 'the package'} asks for it",
            "clang of older Command Line Tools knows it for Intel alone, and no clang takes it "
            "where it compiles for both kinds of Mac at once.",
            recipes=(
                Recipe(
                    title="Build without it" if own else "Build for the one processor of this Mac",
                    steps=(install,),
                    ask=ask if package else {**ask, "package": "the package that is built"},
                ),
                Recipe(
                    title="Update the Command Line Tools, whose newer clang takes it on Apple's "
                    "processors",
                    steps=(Action(run=("softwareupdate", "--list")),),
                    note="softwareupdate --install with the label that it lists installs them.",
                    lasting=False,
                ),
            ),
            name="compiler-option-unknown",
        ),
    )


def _why_unknown(compiler: str, flag: str) -> str:
    if compiler == "nvcc":
        return (
            "nvcc passes options of the host compiler on only if they stand behind -Xcompiler, and "
            "an older nvcc does not know the options of a newer one. Flags in CFLAGS and CXXFLAGS "
            "may reach nvcc unchanged."
        )
    if compiler in {"MSVC", "cl"}:
        return (
            "The build script passes options of gcc, and Visual C++ has its own (/O2, /std:c++17). "
            "The script is written for Linux alone, unless a newer release of the package knows "
            "Windows."
        )
    if flag.startswith(_FOR_PROCESSORS):
        return (
            "The flag names a processor or instructions that this compiler does not know: it is of "
            "another architecture (x86-64 against ARM), or newer than the compiler."
        )
    return (
        "The flag is of another compiler (gcc against clang), or of a newer release than this one. "
        "Python passes on the flags that it was built with itself, so a compiler other than "
        "Python's own may refuse them."
    )


def _apple_openmp(event: Event) -> Explanation:
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            "Apple's clang has no OpenMP: it refuses -fopenmp",
            "The clang of Xcode comes without OpenMP. LLVM's own clang, or libomp from Homebrew "
            "with other flags, builds such sources.",
            recipes=(
                Recipe(
                    title="Build with LLVM's clang from Homebrew",
                    steps=(
                        Action(run=("brew", "install", "llvm", "libomp")),
                        Action(
                            env={
                                "CC": "/opt/homebrew/opt/llvm/bin/clang",
                                "CXX": "/opt/homebrew/opt/llvm/bin/clang++",
                            }
                        ),
                    ),
                    use_if=("Homebrew lies in /opt/homebrew (Apple silicon)",),
                ),
            ),
            name="openmp-missing",
        ),
    )


def _posix(event: Event, what: str) -> Explanation:
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"The sources use {what.strip()}, which Windows does not have",
            "The package is written for Linux, and Visual C++ compiles it here. No setting of the "
            "machine changes that: it needs a wheel for Windows, a release with Windows in it, or "
            "Linux.",
            recipes=(
                Recipe(
                    title="Work in WSL 2, where the package builds as on Linux",
                    use_if=("Windows 10 or 11 with WSL",),
                    note="The NVIDIA driver of Windows serves WSL as well; install none inside.",
                    steps=(Action(run=("wsl", "--install")),),
                ),
            ),
            name="sources-for-another-system",
        ),
    )
