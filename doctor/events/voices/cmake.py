"""CMake (https://cmake.org/cmake/help/latest/)."""

from __future__ import annotations

from doctor.events.forms import Form, Voice

_AT = r"CMake Error(?: at (?P<file>[^\s:]{1,300}):\d{1,6} \(\w{1,80}\))?:"

VOICES = (
    Voice(
        "cmake",
        (
            Form(
                "cmake-project-too-old",
                r"Compatibility with CMake < (?P<least>\d\.\d{1,2}) has been removed",
                ("has been removed from cmake",),
            ),
            Form(
                "cmake-too-old",
                r"CMake (?P<wanted>\d[\d.]{1,12}) or higher is required\.\s{1,4}"
                r"You are running version (?P<running>\d[\w.-]{1,20})",
                ("or higher is required",),
            ),
            Form(
                "cmake-cuda-compiler-missing",
                r"No CMAKE_CUDA_COMPILER could be found|Failed to find nvcc"
                r"|CMAKE_CUDA_COMPILER:? ?-?(?:NOTFOUND|not set)"
                r"|Could not find (?:compiler )?.{0,40}CUDACXX"
                r"|Looking for a CUDA compiler - NOTFOUND"
                r"|Specify CUDA_TOOLKIT_ROOT_DIR|CUDA_TOOLKIT_ROOT_DIR not found or specified",
                (
                    "no cmake_cuda_compiler could",
                    "failed to find nvcc",
                    "a cuda compiler - notfound",
                    "cmake_cuda_compiler",
                    "cuda_toolkit_root_dir",
                ),
            ),
            Form(
                "cmake-cuda-compiler-broken",
                r"The CUDA compiler identification is unknown"
                r"|Compiling the CUDA compiler identification source file .{0,80}failed"
                r"|The CUDA compiler\s?$",
                ("cuda compiler identification", "the cuda compiler"),
            ),
            Form(
                "cmake-variable-not-found",
                r"variables are used in this project, but they are set to NOTFOUND\.?",
                ("they are set to notfound",),
            ),
            Form(
                "cmake-no-cuda-toolset",
                r"No CUDA toolset found",
                ("no cuda toolset found",),
            ),
            Form(
                "cmake-no-native-gpu",
                r"CMAKE_CUDA_ARCHITECTURES:?\s{1,4}native\b"
                r"|CUDA_ARCHITECTURES is set to \"native\", but no NVIDIA GPU was detected"
                r"|is set to \"native\", but no",
                ("native",),
            ),
            Form(
                "cmake-cuda-architectures-empty",
                r"CMAKE_CUDA_ARCHITECTURES must be non-empty if set"
                r"|CUDA_ARCHITECTURES is empty for target",
                ("cmake_cuda_architectures must be", "cuda_architectures is empty"),
            ),
            Form(
                "program-missing",
                r"CMake was unable to find a build program corresponding to "
                r"\"(?P<program>Ninja|Unix Makefiles|NMake Makefiles|MinGW Makefiles)\"",
                ("unable to find a build program",),
            ),
            Form(
                "program-missing",
                r"No CMAKE_(?P<language>C|CXX)_COMPILER could be found"
                r"|CMAKE_(?:C|CXX)_COMPILER not set, after EnableLanguage",
                ("_compiler could be found", "_compiler not set, after"),
            ),
            Form(
                "program-missing",
                r"(?P<generator>Visual Studio \d{2} 20\d\d)\s{1,4}could not find any instance",
                ("could not find any instance",),
                joined=True,
            ),
            Form(
                "cmake-package-missing",
                rf"{_AT}\s{{1,4}}Could NOT find (?P<package>[\w+-]{{1,60}})"
                r"(?: \(missing: (?P<missing>[^)]{1,200})\))?",
                ("cmake error",),
                joined=True,
            ),
            Form(
                "cmake-package-missing",
                r"Could not find a package configuration file provided by\s{1,4}"
                r"\"(?P<package>[\w.+-]{1,60})\"",
                ("could not find a package configuration",),
                joined=True,
            ),
            Form(
                "cmake-package-missing",
                r"By not providing \"Find(?P<package>[\w+-]{1,60})\.cmake\" in CMAKE_MODULE_PATH",
                ('by not providing "find',),
            ),
            Form(
                "cmake-target-missing",
                r"(?:The link interface of target \"(?P<owner>[\w:.+-]{1,80})\" contains:"
                r"|Target \"(?P<other>[\w:.+-]{1,80})\" links to:)",
                ("the link interface of target", '" links to:'),
            ),
            Form(
                "cmake-cache-of-other-folder",
                r"The (?:current )?CMakeCache\.txt (?:directory )?(?P<path>\S{1,300}) is different"
                r"|does not match the (?:source|generator) .{0,200}used (?:to generate|previously)",
                ("cmakecache.txt", "used previously", "used to generate cache"),
            ),
        ),
    ),
)
