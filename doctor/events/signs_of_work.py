"""What in a log shows which GPUs are meant, and which commands printed it."""

from __future__ import annotations

from doctor.events.signs import Sign

WORK = (
    # Vendors of the GPUs. "CUDA" and "nvidia" stand in the log of any torch.
    Sign(
        "vendors",
        "nvidia",
        r"\bGeForce\b|(?:\b|x)(?:RTX|GTX) ?\d{3,4}M?\b|\bTesla [KMPTV]\d|\bQuadro\b|\bNVIDIA-SMI \d"
        r"|with CUDA capability sm_|\bNVRM: |\bNVIDIA (?:[AHBLT]\d{1,3}|GB\d{3}|RTX|DGX)",
        (
            "geforce",
            "rtx",
            "gtx",
            "tesla",
            "quadro",
            "nvidia-smi",
            "with cuda capability",
            "nvrm: ",
            "nvidia a",
            "nvidia h",
            "nvidia b",
            "nvidia l",
            "nvidia t",
            "nvidia gb",
        ),
    ),
    Sign(
        "vendors",
        "amd",
        r"\bRadeon\b|\bgfx(?:[89]\d[0-9a-f]|1[0-2]\d\d)\b|\+rocm\d|/opt/rocm|\bamdhip64"
        r"|\bHSA_OVERRIDE_GFX|\bInstinct MI\d|\bRX ?[5-9]\d{3}\b|\bHIP (?:error|out of memory)"
        r"|\bhipError[A-Z]|\bamdgpu\b",
        (
            "radeon",
            "gfx",
            "+rocm",
            "/opt/rocm",
            "amdhip64",
            "instinct mi",
            "rx 5",
            "rx 6",
            "rx 7",
            "rx 9",
            "rx5",
            "rx6",
            "rx7",
            "rx9",
            "hip error",
            "hip out",
            "hiperror",
            "amdgpu",
        ),
    ),
    Sign(
        "vendors",
        "intel",
        r"\bIntel(?:\(R\))? (?:Arc|Data Center GPU|Iris)|\bArc(?:\(TM\))? [AB]\d{3}M?\b"
        r"|\bZE_RESULT_ERROR|\blevel_zero\b|\+xpu\b|\bUR_RESULT_ERROR",
        (
            "intel arc",
            "intel(r) arc",
            "data center gpu",
            "intel iris",
            "iris",
            "arc a",
            "arc b",
            "arc(tm)",
            "ze_result_error",
            "level_zero",
            "+xpu",
            "ur_result_error",
        ),
    ),
    Sign(
        "vendors",
        "apple",
        r"\bApple M\d\b|\bMPS backend|\bmps:0\b|default metallib|MTLCommandBuffer",
        ("apple m", "mps backend", "mps:0", "metallib", "mtlcommandbuffer"),
    ),
    # Names of GPUs
    Sign(
        "gpus",
        "",
        r"(?:\b|x)(?P<value>(?:NVIDIA )?(?:GeForce )?(?:RTX|GTX) ?(?:PRO )?\d{3,4}M?(?: ?(?:Ti"
        r"|SUPER|Super|D|Ada|Blackwell|Laptop GPU)\b){0,3}|(?:NVIDIA )?(?:Quadro"
        r"|Tesla) (?:RTX )?[A-Z]{0,2}\d{2,4}\w{0,4}"
        r"|NVIDIA (?:[AHBLT]\d{1,3}s?S?|GH200|GB\d{3})(?:[- ](?:SXM\d|PCIe|PCIE|\d{2,3}GB|HBM3e?"
        r"|NVL)){0,3}"
        r"|Radeon(?:\(TM\))?(?: (?:RX|Pro|PRO|VII|Instinct))?(?: [WV]?\d{3,4}\w?)?(?: XTX?| GRE)?"
        r"|Instinct MI\d{2,3}[AX]?|Arc(?:\(TM\))? [AB]\d{3}M?|gfx(?:9\d[0-9a-f]|1[0-2]\d\d)"
        r"|Apple M\d(?: (?:Pro|Max|Ultra))?)",
        (
            "rtx",
            "gtx",
            "quadro",
            "tesla",
            "nvidia a",
            "nvidia h",
            "nvidia b",
            "nvidia l",
            "nvidia t",
            "nvidia g",
            "radeon",
            "instinct mi",
            "arc a",
            "arc b",
            "arc(tm)",
            "apple m",
        ),
    ),
    # Indexes and commands
    Sign(
        "indexes",
        "",
        r"(?:--(?:extra-)?index-url|--find-links|--default-index"
        r"|--index)[ =]['\"]?(?P<value>\S{4,300})",
        ("index-url", "--find-links", "--default-index", "--index "),
    ),
    Sign(
        "indexes",
        "",
        r"Looking in (?:indexes|links): (?P<value>\S.{3,600})",
        ("looking in indexes", "looking in links"),
    ),
    Sign(
        "indexes",
        "",
        r"\b(?P<value>https://download\.pytorch\.org/whl/[\w./-]{2,60})",
        ("download.pytorch.org/whl/",),
    ),
    Sign(
        "commands",
        "",
        r"^(?:\([\w.-]{1,40}\) ?)?(?:[\w.-]{1,40}@[\w.-]{1,60}[: ]\S{0,200}?[$#%]|[$%]) "
        r"(?P<value>\S.{1,300})",
        ("$ ", "# ", "% "),
    ),
    Sign(
        "commands",
        "",
        r"^(?:\([\w.-]{1,40}\) ?)?(?:PS )?[A-Z]:\\[^>\n]{0,200}> ?(?P<value>\S.{1,300})",
        (":\\",),
    ),
    Sign(
        "commands",
        "",
        r"^(?:#\d{1,4} )?(?:\[[^\]\n]{1,40}\] |Step \d{1,3}/\d{1,3} : ?"
        r"|>>> )?RUN (?P<value>\S.{1,300})",
        ("run ",),
    ),
    Sign(
        "commands",
        "",
        r"^[\s`!+>*-]{0,8}(?P<value>(?:sudo )?(?:pip3?|python3?(?:\.\d{1,2})?|uv|conda|mamba"
        r"|docker|cargo|cmake|apt|apt-get|torchrun|vllm|git|srun|sbatch|accelerate|deepspeed"
        r"|nvidia-smi|nvcc|ollama|poetry|make|brew)"
        r" (?:-|install|run|build|serve|clone|launch|pip|add|create|sync|update|exec|compose"
        r"|submodule|[\w./\\-]{1,200}\.(?:py|sh|cu|c|cpp)\b).{0,300})",
        (
            "pip ",
            "pip3 ",
            "python ",
            "python3 ",
            "uv ",
            "conda ",
            "mamba ",
            "docker ",
            "cargo ",
            "cmake ",
            "apt ",
            "apt-get ",
            "torchrun ",
            "vllm ",
            "git ",
            "srun ",
            "sbatch ",
            "accelerate ",
            "deepspeed ",
            "nvcc ",
            "ollama ",
            "poetry ",
            "brew ",
        ),
    ),
    Sign(
        "built_from_source",
        "yes",
        r"(?:\b|/)(?:nvcc|g\+\+|gcc|clang\+\+|clang|cl\.exe|cl|hipcc|icpx"
        r"|c\+\+)(?:-\d{1,2})?['\"]? .*(?: |/)-?c |^\s{0,8}running build_ext"
        r"|^\s{0,8}building '[\w.]{1,120}' extension"
        r"|^FAILED: |\[\d{1,5}/\d{1,5}\] (?:Building|/usr)|ninja: build stopped",
        (
            "nvcc",
            "g++",
            "gcc",
            "clang",
            "cl.exe",
            "hipcc",
            "icpx",
            "running build_ext",
            "building '",
            "failed: ",
            "] building",
            "ninja: build",
        ),
    ),
    Sign(
        "tools",
        "pip",
        r"^\s{0,8}(?:Collecting |Requirement already satisfied: |Successfully (?:installed"
        r"|uninstalled) |Using cached |Looking in indexes: |ERROR: pip)",
        (
            "collecting ",
            "requirement already",
            "successfully ",
            "using cached ",
            "looking in indexes",
        ),
    ),
    Sign(
        "tools",
        "uv",
        r"^\s{0,8}Using (?:CPython|Python) \d|^Resolved \d{1,6} packages? in"
        r"|^\s{0,4}× (?:No solution|Failed to)|^Prepared \d",
        ("using cpython", "using python", "resolved ", "no solution found", "prepared "),
    ),
    Sign(
        "tools",
        "conda",
        r"^(?:Solving environment|Collecting package metadata|Channels:$)",
        ("solving environment", "collecting package metadata", "channels:"),
    ),
    Sign(
        "tools",
        "cargo",
        r"^\s{0,8}(?:Compiling|Checking|Updating|Downloaded) \S{1,80} (?:v\d|index)",
        ("compiling ", "checking ", "updating ", "downloaded "),
    ),
    Sign(
        "tools",
        "cmake",
        r"^\s{0,8}-- (?:The CXX compiler|Configuring|Found |Detecting|Could NOT find)",
        ("-- the c", "-- configuring", "-- found ", "-- detecting", "-- could not find"),
    ),
)
"""GPUs, indexes, commands, compilers and installers."""
