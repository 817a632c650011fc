"""The names of facts about installed files, libraries and compiled extensions.

They are part of the vocabulary.
"""

from __future__ import annotations

FILES: dict[str, str] = {
    "files.missing": (
        "files that the stack's RECORD lists and that are not there: {path, kind, package, "
        "requirement, size, wanted_size}"
    ),
    "files.missing_packages": "packages that miss files, as torch==2.13.0",
    "files.missing_apart": (
        "those that miss libraries and are neither torch nor NVIDIA's, so that torch says "
        "nothing of them"
    ),
    "files.damaged": "files whose size is not the one that RECORD lists, in the same form",
    "files.damaged_packages": "packages with such files, as torch==2.13.0",
    "files.lfs_pointers": "libraries that are the text of a git-lfs pointer",
    "files.overwritten": (
        "files of a package in whose place lie those of another that lists them too, in the "
        "same form, with `by`"
    ),
    "files.overwritten_packages": (
        "packages with such files, as onnxruntime-gpu==1.27.0, but for NVIDIA's of two CUDA "
        "generations"
    ),
    "files.overwriting_packages": "packages whose files lie there instead, in the same form",
    "cuda_packages.leftover": (
        "NVIDIA's packages of another CUDA generation, nvidia-cudnn-cu12, that nothing "
        "installed needs"
    ),
    "cuda_packages.shared": (
        "packages that are needed and share files with those, as nvidia-cudnn-cu13==9.20.0.48"
    ),
    "cuda_packages.overwritten": (
        "packages that are needed and whose files are those of another generation, in the same form"
    ),
    "cuda_packages.overwriting": "packages whose files lie there instead, in the same form",
    "cuda_packages.wanted_by": "who asks for those that are overwritten",
    "cuda_packages.also_wanted_by": (
        "who asks for those that lie there instead; absent where nobody does"
    ),
    "python.left_behind": (
        "folders (~orch) that an installer renamed before it removed them, and left there "
        "when it was stopped"
    ),
    "python.interrupted": (
        "packages (torch apart) that an installer had begun to remove and nothing has "
        "replaced, as numpy==2.3.0"
    ),
    "torch.interrupted": (
        "version of the torch that an installer had begun to remove, where nothing has "
        "replaced it since"
    ),
    "python.stale_metadata": (
        "dist-info folders of a package that has another one in the same folder, whose RECORD "
        "fits its files better"
    ),
    "python.doubled": "packages with such a folder, as torch==2.12.0",
    "torch.without_metadata": (
        "folder of a torch in site-packages that belongs to no installed distribution"
    ),
    "torch.hollow": (
        "the file without which that torch cannot be imported, or is imported as nothing: "
        "__init__.py, _C"
    ),
    "torch.hollow_release": "release that its version.py names",
    "modules.gone": (
        "files cv2/__init__.py that an installed distribution brings and that are not there, "
        "or empty"
    ),
    "modules.gone_packages": "distributions that these belong to, as opencv-python==4.12.0.88",
    "program.gone": (
        "files that RECORD lists and that are not there, of packages in the traceback of a program "
        "that failed: {path, package, requirement}"
    ),
    "program.misfit": (
        "packages whose wheels were made for another machine or Python, where a program failed on "
        "one of them, and the tag of each wheel"
    ),
    "program.misfit_packages": "the same packages as requirements, as lxml==5.3.0",
    "program.hiding": (
        "copies of packages that come before the installed ones, of releases that another package "
        "refuses, with the folder and who refuses it"
    ),
    "program.hidden_by": "the variable that puts such a folder first: PYTHONPATH",
    "program.pythonpath_rest": "PYTHONPATH without these folders, where any others are left",
    "program.hiding_file": ".pth file that puts such a folder first",
    "program.hiding_line": "line of that file that does it",
    "program.hiding_line_after": "line in its place that lets the folder come last",
    "program.overwritten": (
        "files of packages that a failed program names, in whose place lie those of another "
        "package by the hashes of RECORD"
    ),
    "program.overwritten_packages": "the package to install again, as opencv-python==4.12.0.88",
    "program.overwriting_spare": "packages that share these files and that nothing asks for",
    "program.gone_packages": "packages that these belong to, as certifi==2026.11.12",
    "libs.resolved": "CUDA library names and the file each would resolve to: {path, how, by}",
    "libs.shadowed": (
        "CUDA libraries that would come from elsewhere than the target's own packages: "
        "{soname, by, expected, how}"
    ),
    "libs.undefined_symbols": (
        "symbols that torch's CUDA libraries ask of each other in vain, where they are of "
        "different releases"
    ),
    "libs.cudnn_older": (
        "the cuDNN that torch would load, where it is older than torch accepts: {library, "
        "version, wanted}"
    ),
    "libs.cudnn_mixed": (
        "a part of cuDNN that torch would load beside parts of another release: {library, "
        "version, wanted}"
    ),
    "libs.ld_library_path_rest": (
        "LD_LIBRARY_PATH without the folders that libs.shadowed come from; absent where no "
        "folder remains"
    ),
    "libs.ld_library_path": "folders of LD_LIBRARY_PATH that hold CUDA libraries",
    "extensions.files": (
        "compiled files that stand on torch, CUDA or a newer C++ library than is here"
    ),
    "extension.*.missing_libraries": (
        "libraries of torch or CUDA that its compiled files need and nothing here brings: "
        "libcudart.so.12"
    ),
    "extension.*.undefined_symbols": "symbols that its compiled files ask of torch or CUDA in vain",
    "extension.*.undefined_means": (
        "cxx11-abi, torch or cuda: which of these it was built for another of"
    ),
    "extension.*.built_for": (
        "releases that define every symbol that a file with undefined symbols asks for: "
        "torch 2.3.0 to 2.7.1, cudart 12.8 or later"
    ),
    "extension.*.system_versions": (
        "versions of the C and C++ libraries that its compiled files need and this machine "
        "lacks: GLIBC_2.32"
    ),
    "extension.*.glibc_wanted": "newest glibc among them",
    "extension.*.glibcxx_wanted": "newest GLIBCXX_ version among them",
    "extension.*.archs": (
        "GPU architectures that its compiled files hold code for: sm_90, and compute_90 for PTX"
    ),
    "extension.*.unsupported_gpus": "compute capabilities here that none of this code runs on",
}
