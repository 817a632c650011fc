"""The names of facts: what each one means, and in which unit.

A condition may only name a fact that stands here. `*` stands for a name that the environment gives
(a package, a variable).
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from doctor.model.vocabulary.files import FILES
from doctor.model.vocabulary.gpus import GPUS
from doctor.model.vocabulary.nvidia import NVIDIA
from doctor.model.vocabulary.workspace import WORKSPACE

FACTS: dict[str, str] = {
    **WORKSPACE,
    **NVIDIA,
    **GPUS,
    # the machine
    "host.os": "linux, macos or windows",
    "host.kernel": "release of the kernel",
    "host.machine": "architecture of the processor: x86_64, aarch64, arm64",
    "host.distribution": "name and version of the operating system, for people",
    "host.distribution_id": "ID of /etc/os-release: debian, ubuntu, fedora",
    "host.distribution_version": "VERSION_ID of /etc/os-release",
    "host.package_manager": "apt, dnf, zypper, pacman, apk or brew",
    "host.glibc": "version of the C library; absent on musl and outside Linux",
    "host.glibcxx_max": "newest GLIBCXX_ version in the system's libstdc++",
    "host.root": "whether this user is root, who needs no sudo",
    "host.container": "docker, podman, kubernetes, lxc, apptainer; absent outside a container",
    "host.service": "true where a service of systemd runs this process; absent elsewhere",
    "host.unit": "name of that service's unit: embed.service",
    "host.private_dev": "true where this process has a /dev of its own, outside of containers too",
    "host.confidential": (
        "by what one sees that this virtual machine is confidential: /dev/sev-guest"
    ),
    "host.secure_boot": "whether Secure Boot is on; absent where the machine does not tell",
    "host.wsl": "true inside the Windows Subsystem for Linux; absent elsewhere",
    "host.wsl_dxg": (
        "in WSL: whether /dev/dxg is there, through which Windows hands GPUs in; absent elsewhere"
    ),
    "host.wsl_windows_cuda": (
        "path of a library of NVIDIA's driver of Windows, where WSL hands no GPU in: "
        "/mnt/c/…/nvcuda.dll"
    ),
    "torch.driver_missing_in_report": (
        "true where a report of collect_env found no NVIDIA driver, and names no GPU"
    ),
    "torch.no_runtime_in_report": (
        "true where a pasted text holds torch's line 'No CUDA runtime is found'"
    ),
    "torch.missing_in_report": "true where a report of collect_env was written without torch",
    "host.rosetta": "true where the interpreter runs translated on Apple silicon",
    "host.jetson": "model of an NVIDIA Jetson board; absent elsewhere",
    "host.cpu_count": "processors this process may use",
    "host.amx": "true where the processor lists Intel's AMX; absent elsewhere",
    "host.memory_bytes": "memory of the machine",
    "host.memory_available_bytes": "memory that is free to use now, control groups considered",
    "host.memory_limit_bytes": "limit of the control group; absent where there is none",
    "host.shm_bytes": "size of /dev/shm",
    "host.tmp_free_bytes": "free space in the folder for temporary files",
    "host.tmp_noexec": "true where the folder for temporary files forbids execution",
    "host.iommu": "true where an IOMMU translates (not passthrough)",
    "host.acs": (
        "true where a PCIe bridge above an NVIDIA GPU redirects what devices send each other; "
        "absent without such a GPU"
    ),
    "host.virtual_machine": "true inside a virtual machine",
    "host.cpu_model": "model of the processor, as the kernel names it",
    "host.limit_memlock": "bytes that a process may lock in memory (ulimit -l), or unlimited",
    "host.limit_files": "files that a process may open (ulimit -n), or unlimited",
    "host.limit_processes": "processes that this user may have (ulimit -u), or unlimited",
    "host.limit_stack": "bytes of a process's stack (ulimit -s), or unlimited",
    "host.clock_synchronized": "whether NTP keeps the clock, as the kernel says",
    "host.network_mtu": "MTU of each network interface with hardware behind it, by its name",
    "checks.culprit": "name of the variable without which a check passes that fails with it",
    "checks.culprit_value": "value of that variable, cut and without secrets",
    "checks.culprit_check": "what fails with that variable: torch-runtime on cuda:0",
    "checks.culprit_rest": "that list of folders or files without the harmful one",
    "env.*": "an environment variable that steers the stack",
    "set_in.*": (
        "file and line that give such a variable its value at login, of those that choose among "
        "GPUs: /etc/environment, line 2"
    ),
    # What a pasted text says of its machine without saying whose it is
    "text.source": "that the facts are those of a pasted text",
    "text.cuda_version": "the only CUDA that the text names without saying whose it is",
    "text.cudnn_generation": "first number of the only cuDNN that it names or lists",
    "text.names_gpu": "true where it names an NVIDIA GPU",
    "text.torch_of_pypi": "true where it says that pip installed torch, without another index",
    "text.asked_cuda": "CUDA that the command of the text asks a build of torch for",
    "text.torch_twice": "the two releases of torch that a file asks of conda and of pip",
    "text.cuda_home": "what CUDA_HOME holds",
    "text.torch_listed_twice": "the two releases of torch that one environment shows",
    "text.built_for_another": "packages whose suffix names another torch or CUDA than this one's",
    "text.built_for_another_names": "the names of these packages",
    "text.other_cuda_packages": "the CUDA runtime that is not of the release in torch's suffix",
    "text.other_cudnn": "the cuDNN that is of another generation than this torch loads",
    "text.jax_plugin_differs": "the release of JAX's CUDA plugin, where jaxlib is of another one",
    # CUDA toolkit
    "cuda.toolkits": "list of {root, version, origin, nvcc, missing, unlinkable}",
    "cuda.home": "root of the toolkit that a build would take, or could where CUDA_HOME is broken",
    "cuda.home_origin": (
        "how it is found: CUDA_HOME, CUDA_PATH, PATH, /usr/local/cuda, conda, pip, folder"
    ),
    "cuda.selected": (
        "true where the environment itself selects it; false where it only lies there (pip, conda)"
    ),
    "cuda.packaging": "how it was packaged: pip, conda, distribution (in /usr) or nvidia",
    "cuda.version": "major.minor of that toolkit",
    "cuda.headers_version": "major.minor of its headers, as cuda.h says",
    "cuda.nvcc": "path of its nvcc",
    "cuda.nvcc_version": "full version of its nvcc",
    "cuda.mixed_packages": (
        "pip packages of the compiler whose releases do not go together: nvidia-nvvm newer "
        "than nvidia-cuda-nvcc"
    ),
    "cuda.missing": "files that building a torch extension needs and the toolkit lacks",
    "cuda.missing_owners": "packages that own those files, by their names on the package index",
    "cuda.missing_requirements": (
        "exact requirements that bring those files back, where pip made the toolkit"
    ),
    "cuda.missing_system_packages": (
        "packages of conda, apt or dnf that own those files, where one of these made the toolkit"
    ),
    "cuda.unlinkable": (
        "libraries that the linker wants by plain name (libcudart.so) and does not find"
    ),
    "cuda.link_source": "versioned file that stands for the first of them, libcudart.so.13",
    "cuda.lib_dir": "folder of the toolkit's libraries",
    "cuda.gcc_max": "newest gcc major that crt/host_config.h accepts",
    "cuda.clang_max": "newest clang major that crt/host_config.h accepts",
    "cuda.home_broken": "value of CUDA_HOME where it is no folder, or holds no nvcc",
    "cuda.pip_root": (
        "folder beside torch where pip puts the toolkit of torch's CUDA, whether it is there or not"
    ),
    "cuda.cudnn_header": (
        "true where cudnn.h lies in the toolkit or in the system's include folders"
    ),
    # compilers and build tools
    "compiler.cc": "path of the C compiler (CC, else cc, gcc, clang)",
    "compiler.cxx": "path of the C++ compiler (CXX, else c++, g++, clang++)",
    "compiler.cxx_kind": "gcc, clang, apple-clang or msvc",
    "compiler.cxx_version": "version of the C++ compiler",
    "compiler.cxx_major": "first number of it",
    "compiler.cuda_host": (
        "path of the compiler that nvcc would call (-ccbin in its flags, NVCC_CCBIN, CC, "
        "CUDAHOSTCXX, else gcc)"
    ),
    "compiler.cuda_host_kind": "gcc or clang",
    "compiler.cuda_host_major": "first number of its version",
    "build.ninja": "version of ninja on the target's path",
    "build.cmake": "version of cmake on the path",
    "build.git": "version of git on the path",
    # the interpreter
    "python.executable": "path of the interpreter",
    "python.version": "its version",
    "python.minor": "major.minor of it, 3.11",
    "python.oldest_torch": "oldest release of torch with a wheel for this Python",
    "python.newest_torch": "newest release of torch with a wheel for this Python",
    "python.newest_torch_tags": "indexes of PyTorch that hold that newest release: cu126, cu128",
    "python.implementation": "cpython, pypy",
    "python.tag": "tag of its wheels, cp311",
    "python.bits": "32 or 64",
    "python.free_threaded": "true for a build without the global lock",
    "python.prefix": "its prefix",
    "python.base_prefix": "prefix of the interpreter behind a virtual environment",
    "python.virtual_environment": "true inside a virtual environment",
    "python.conda": "prefix of the conda or pixi environment it belongs to",
    "python.site_packages": "folders where its packages lie, in the order of sys.path",
    "python.include": "folder where Python.h would lie",
    "python.headers": "true where Python.h is there",
    "python.installer": "what manages this environment: uv, pip, conda, pixi, poetry, pdm",
    "python.lock": (
        "lock file in the current folder that the environment is kept to: uv.lock, "
        "poetry.lock, pdm.lock, pixi.lock"
    ),
    "python.lock_differs": (
        "packages of which uv.lock names another version than is installed, and that version"
    ),
    "project.locked": (
        "release in the lock of uv, poetry, pdm or pipenv of each package that it names, unless "
        "pyproject.toml or Pipfile excludes it; absent where most of those that are installed have "
        "another release"
    ),
    "project.pinned": "release that the project pins with ==, of each installed package",
    "project.asked": "release that the project pins with ==, of each package that is absent",
    "project.ranges": "versions that the project allows, of each package that it does not pin",
    "python.writable": "whether this user may write to its site-packages",
    "python.uv": "path of uv on the path",
    "python.has_pip": "true where the environment holds pip",
    "python.externally_managed": "true where pip refuses to install (PEP 668)",
    "python.shadowed": "files in the current folder that hide a package of the stack (torch.py)",
    "packages": "every distribution and its version",
    "package.*.version": "version of a distribution, by normalized name",
    "package.*.installer": "what installed it, as its INSTALLER file says",
    "package.*.installed_at": "when, as a UTC time",
    "package.*.location": "folder that holds it",
    "package.*.commit": "commit of a distribution installed from git",
    "package.*.editable": "true for an editable install",
    "package.*.local": "local part of its version, cu130",
    "package.*.wheel_torch": "torch release in the local part of its version, 2.8",
    "package.*.wheel_cuda": "CUDA in the local part of its version, 12 or 12.8",
    "package.*.wheel_abi": "true or false: cxx11abi in the local part of its version",
    "package.*.duplicates": "other versions of it that lie on the path as well",
    "requires.*.*.met": "whether what is installed meets what a package asks for",
    "requires.*.*.specifier": "what it asks for",
    "requires.*.*.installed": "what is installed",
    "requires.*.*.moved": (
        "which of the two came later, where they do not fit: {package, at, installer, later_than}"
    ),
    # torch
    "torch.version": "with its local part",
    "torch.release": "without it",
    "torch.minor": "major.minor",
    "torch.local": "local part, cu130",
    "torch.metadata_version": (
        "version in its dist-info, where its version.py is of another release"
    ),
    "torch.build": "cuda, rocm, xpu or cpu",
    "torch.cuda_version": "CUDA it was built with, major.minor",
    "torch.cuda_major": "first number of it",
    "torch.newest_cuda": "newest CUDA that any published build of this release is for",
    "torch.cuda_tag": "cu130",
    "torch.hip_version": "ROCm's HIP it was built with",
    "torch.xpu_version": "oneAPI it was built with",
    "torch.git_version": "commit it was built from",
    "torch.cxx11_abi": "true for the new C++ ABI",
    "torch.cxx11_abi_tag": "TRUE or FALSE, as wheel names spell it",
    "torch.arch_list": "architectures compiled in, as sm_90",
    "torch.glibc_min": "oldest glibc its libraries load on",
    "torch.cxx_standard": "C++ standard its builds of extensions ask for, 17 or 20",
    "torch.path": "folder of the package",
    "torch.specializes_symbolic": (
        "true where its own file turns a symbolic size into a constant for user-defined "
        "Triton kernels"
    ),
    "torch.numpy_abi": "1 or 2: numpy's C interface it was built against",
    "torch.cuda_available": "whether torch itself sees a CUDA device, as it said when run",
    "torch.reaches_xpu": (
        "that torch itself reached a GPU of Intel; absent where it did not, or nobody asked it"
    ),
    "torch.reaches_cuda": (
        "that torch itself reached a GPU of NVIDIA; absent where it did not, or nobody asked it"
    ),
    "torch.cuda_error": "why it does not",
    "torch.devices": "devices that answered a tiny operation",
    "torch.cuda_devices": (
        "list of {index, name, capability, memory_bytes, uuid, pci_bus_id, gfx, error}, as "
        "torch sees them"
    ),
    "torch.xpu_devices": "the same of Intel's GPUs, where torch was built for them",
    "torch.xpu_error": "why it finds none",
    "torch.mps_built": "whether the build has Metal",
    "torch.mps_available": "whether Metal answers",
    "torch.import_seconds": "how long import torch took",
    "torch.import_warnings": "first lines of the warnings it printed",
    "torch.cudnn_version": "version of the cuDNN that torch loaded, as it says it: 92000",
    "torch.cudnn_error": "why torch refuses the cuDNN that it loaded",
    "torch.imports": "false where import torch failed, crashed or hung",
    "fla.delta_rule_disabled": (
        "true where flash-linear-attention keeps fused_recurrent_delta_rule out of compiled graphs"
    ),
    "torchaudio.cuda_version": (
        "CUDA that torchaudio was compiled with, major.minor, as its own files say"
    ),
    "torchaudio.newest_torch": (
        "newest release of torch on the package index that a torchaudio was compiled for"
    ),
    "torchaudio.asked_by": "installed packages of the stack that ask for torchaudio",
    "torchaudio.fits_cuda": (
        "false where torchaudio was compiled with another CUDA than torch: its import then fails"
    ),
    "triton.version": "version of the module, whichever distribution brought it",
    "triton.path": "folder of the package",
    "triton.distributions": "distributions that bring a module called triton",
    "triton.ptxas": "path of the ptxas it would use",
    "triton.ptxas_version": "version of that ptxas",
    "cache.*.path": (
        "folder where inductor, triton, extensions (of torch) or cuda would keep what this "
        "user compiles"
    ),
    "cache.unwritable": "those that this user cannot write: {path, cache, owner}",
    "cache.noexec": "those that libraries cannot be loaded from, for the disk is mounted noexec",
    "cache.network": "those on a network disk: {path, cache, type}",
    "cache.stale_locks": (
        "lock files of interrupted extension builds, an hour old and held by no process: the "
        "next build waits for ever"
    ),
    **FILES,
    # the project
    "project.triton_kernels": (
        "places in the project's own files that define a Triton kernel, up to three, "
        "ops/copy.py:4; looked for beside torch before 2.6"
    ),
    "project.manifests": (
        "files of the project that say which packages it wants, those that people edit first"
    ),
    "manifest.*": (
        "where the project asks for a package, a crate or, as cuda, an image with CUDA: "
        "{path, line}"
    ),
    "pin.*": (
        "what that line says of the version: {path, line, column, text, syntax, whole, page}; "
        "`whole` is the line where it is safe to repeat, `page` is true where the file names a "
        "page of PyTorch's index"
    ),
    # Metal
    "metal.macos": "version of macOS",
    "metal.chip": "name of the chip",
    "metal.family": "newest Apple GPU family",
    # logs
    "run.ended": (
        "how the command of doctor run ended: {command, status, means}, with the name of a signal "
        "or the meaning of the status, where it has one"
    ),
    "log.owner": (
        "line of a log that most likely owns the failure: {source, line, text, by, kind, level, "
        "ending, ask}, with the program that printed it, how a process ended and what to ask next"
    ),
    # derived
    "stack.tuple": (
        "torch, CUDA, C++ ABI, Python tag, architecture and glibc: what decides which wheels fit"
    ),
    "gpu.unsupported_by_torch": "compute capabilities that this torch has no code for",
    "gpu.newer_than_release": (
        "GPUs of a pasted text that no published build of its torch has code for"
    ),
    "gpu.newer_than_cuda": (
        "compute capabilities that the CUDA of this torch compiles no code for, where its list "
        "of architectures is not known"
    ),
    "gpu.declared": "true where the GPU was declared with --assume",
    "gpu.flash_attn_archs": "what FLASH_ATTN_CUDA_ARCHS wants for these GPUs: 80;90",
    "gpu.arch_list": "distinct capabilities, joined by ; as TORCH_CUDA_ARCH_LIST wants them",
    "cuda.matches_torch": "same, minor or major: how the toolkit's CUDA differs from torch's",
    "cuda.compiler_fits_headers": (
        "false where nvcc and the headers beside it are of different CUDA releases"
    ),
    "cuda.host_compiler_fits": "false where the host compiler is newer than nvcc accepts",
    "flash-attn.wheel_fits_torch": (
        "false where the wheel of flash-attn names another torch than the one installed"
    ),
    "triton.fits_torch": "false where the installed triton is not the one torch asks for",
    "torch.wanted_tag": (
        "tag of PyTorch's wheel index, cu126, whose build of this release runs on this driver "
        "and every GPU"
    ),
    "flash-attn.wheel_fits_abi": "false where the flash-attn wheel names the other C++ ABI",
    "cuda.ahead_of_driver": (
        "true where the toolkit is of a newer CUDA than the driver speaks, so that it cannot "
        "load the toolkit's PTX"
    ),
    "build.max_jobs": "parallel nvcc jobs that fit into the memory that is free",
    "compat.*.*": "fits or violated: how a fact stands to a compatibility table",
    "compat.*.*.wanted": "what that table wants",
    "compat.*.*.seen": "what is held against it, where that table judges",
    "compat.*.*.by": "what selected the row of that table: torch 2.13.0",
    "compat.*.beyond": (
        "what is newer than that table knows: {of, here, ends, read}; nothing is known of it"
    ),
}


def is_known(name: str) -> bool:
    """Say whether a fact of this name can exist."""
    return name in FACTS or any("*" in pattern and fnmatchcase(name, pattern) for pattern in FACTS)
