"""What in a log shows where it was printed: texts to look for, and the patterns around them."""

from __future__ import annotations

from typing import NamedTuple


class Sign(NamedTuple):
    """One sign of a circumstance.

    `about` is the field of the context, `value` what it shows (empty: the group `value` of the
    pattern).
    A line is searched for `pattern` if it holds one of `words`, which are
    lower-case.
    """

    about: str
    value: str
    pattern: str
    words: tuple[str, ...]


_START = r"(?:^|[\s'\"(=:,\[`])"

PLACES = (
    # Systems. Paths under /usr and /opt stand in the logs of Macs as well.
    Sign("os", "windows", r"\b[A-Za-z]:\\{1,2}[\w.]", (":\\",)),
    Sign("os", "windows", r"\bwin_amd64\b|/win-64::", ("win_amd64", "/win-64::")),
    Sign(
        "os",
        "windows",
        r"\bOS ?:? {0,4}(?:Name: {1,20})?(?:Microsoft )?[Ww]in(?:dows)? ?(?:1[01]|8|7|Server)",
        ("windows", "os: win"),
    ),
    # The banner of Python names its compiler and its platform.
    Sign(
        "os",
        "windows",
        r"\[MSC v\.\d{4} \d\d bit[^\]]{0,20}\].{0,40} on win32\b",
        ("on win32",),
    ),
    Sign(
        "os",
        "windows",
        r"\[WinError \d|DLL load failed|Windows fatal exception",
        ("[winerror", "dll load failed", "windows fatal"),
    ),
    Sign("os", "windows", r"\b(?:fatal )?error (?:LNK|C)\d{4}\b", ("error lnk", "error c")),
    Sign(
        "os",
        "windows",
        r"^(?:\([\w.-]{1,40}\) ?)?(?:PS )?[A-Z]:\\[^>\n]{0,200}> ?"
        r"(?:docker|python|py|pip|git|conda|wsl|nvidia-smi|\.\\)",
        (":\\",),
    ),
    Sign(
        "os", "macos", r"(?:^|[\s'\"(=,\[`])/(?:opt/homebrew|Users)/", ("/opt/homebrew/", "/users/")
    ),
    Sign(
        "os",
        "macos",
        r"\bmacosx[_-]\d|\bdyld\[\d|\bDarwin Kernel|\bOS: {0,4}[Mm]ac ?OS|/[\w.+-]{1,100}\.dylib\b",
        ("macosx", "dyld[", "darwin kernel", "os: mac", ".dylib"),
    ),
    # A form's own row.
    Sign(
        "os",
        "macos",
        r"\b(?:OS|Operating [Ss]ystem|Platform)\b[^:\n]{0,40}:[*_` ]{0,6}[\w ,]{0,40}"
        r"\b(?:macOS|MacBook|Mac ?OS X|Mac(?: mini| Studio| Pro)?\b)",
        ("macos", "macbook", "mac os", "mac mini", "mac studio"),
    ),
    Sign(
        "os",
        "windows",
        r"\b(?:OS Platform|Operating [Ss]ystem)\b[^:\n]{0,40}:[*_` ]{0,6}(?:Microsoft )?Windows\b",
        ("windows",),
    ),
    # A line of its own, as people describe their machine.
    Sign(
        "os",
        "macos",
        r"^[\s*_`-]{0,6}(?:macOS|Mac OS X) (?:[A-Z][a-z]{3,9} )?\d{2}(?:\.\d{1,2}){0,2}"
        r"\s{0,4}(?:$|[,;(])",
        ("macos ", "mac os x "),
    ),
    Sign("os", "macos", _START + r"/private/var/folders/", ("/private/var/folders/",)),
    Sign(
        "os",
        "linux",
        _START + r"/(?:home|root|opt/conda|mnt|workspace|kaggle|content|lib64|nix/store)/",
        (
            "/home/",
            "/root/",
            "/opt/conda/",
            "/mnt/",
            "/workspace/",
            "/kaggle/",
            "/content/",
            "/lib64/",
            "/nix/store/",
        ),
    ),
    Sign(
        "os",
        "linux",
        r"linux[-_](?:gnu|x86_64|aarch64)\b|\bmanylinux\w{1,30}\.whl",
        (
            "linux-gnu",
            "linux_x86_64",
            "linux-x86_64",
            "linux_aarch64",
            "linux-aarch64",
            "manylinux",
        ),
    ),
    Sign(
        "os",
        "linux",
        r"cannot open shared object file|\bOS: {0,4}(?:Ubuntu|Debian|Linux)|\bLinux version \d",
        ("cannot open shared object", "os: ubuntu", "os: debian", "os: linux", "linux version"),
    ),
    Sign(
        "os",
        "unix",
        _START + r"/(?:usr/(?:lib|local|bin|include)|var/lib|etc)/",
        ("/usr/lib/", "/usr/local/", "/usr/bin/", "/usr/include/", "/var/lib/", "/etc/"),
    ),
    # Distributions
    Sign(
        "distribution",
        "",
        r"\b(?P<value>(?:Ubuntu|ubuntu)[- ]?(?:1[468]|2[0-8])[.]?(?:04|10))\b",
        ("ubuntu",),
    ),
    Sign(
        "distribution",
        "",
        r"\b(?P<value>Debian(?: GNU/Linux)? (?:9|1[0-3])|Fedora(?: Linux)? \d\d|CentOS(?: Linux"
        r"| Stream)?(?: release)? [6-9]|Rocky Linux(?: release)? \d{1,2}"
        r"|AlmaLinux(?: release)? \d{1,2}|Red Hat Enterprise Linux(?: Server)?(?: release)? "
        r"\d{1,2}|Amazon Linux 20?2?\d?|Arch Linux|Manjaro|NixOS|openSUSE \w{1,12}"
        r"|Alpine(?: Linux)? v?3\.\d\d?|Linux Mint \d\d|Pop!_OS \d\d\.\d\d"
        r"|Oracle Linux(?: Server)?(?: release)? \d{1,2})\b",
        (
            "debian",
            "fedora",
            "centos",
            "rocky linux",
            "almalinux",
            "red hat ent",
            "amazon linux",
            "arch linux",
            "manjaro",
            "nixos",
            "opensuse",
            "alpine",
            "linux mint",
            "pop!_os",
            "oracle linux",
        ),
    ),
    # Processors
    Sign(
        "machine",
        "x86_64",
        r"\bx86_64-linux-gnu\b|\blinux-x86_64(?:-c|[/\\])|\(x86_64\)$",
        ("x86_64-linux-gnu", "linux-x86_64", "(x86_64)"),
    ),
    Sign(
        "machine",
        "aarch64",
        r"\baarch64-linux-gnu\b|\blinux-aarch64(?:-c|[/\\])|\(aarch64\)$"
        r"|\b(?:LTS|GNU/Linux|Ubuntu|Debian)[ \w.()/]{0,20} aarch64\b|\baarch64 aarch64\b",
        ("aarch64-linux-gnu", "linux-aarch64", "(aarch64)", " aarch64"),
    ),
    Sign(
        "machine",
        "arm64",
        r"\bmacosx[-_]\d{2}[._]\d{1,2}[-_]arm64\b|\bApple M\d\b",
        ("macosx", "apple m"),
    ),
    # Containers. What the docker command itself reports comes from the host.
    Sign(
        "container",
        "docker",
        r"^Dockerfile:\d{1,5}$|executor failed running \[/bin/|process \"/bin/\w{1,8} -o?e?c? ?",
        ("dockerfile:", "executor failed running", 'process "/bin/'),
    ),
    Sign(
        "container",
        "docker",
        r"\broot@[0-9a-f]{12}:[/~]|/vllm-workspace/|/\.dockerenv|/proc/\d{0,7}self/root/docker",
        ("root@", "/vllm-workspace/", "/.dockerenv"),
    ),
    # A shell that `docker run -it` opened stands in the root folder or in that of the image.
    Sign(
        "container",
        "docker",
        r"^root@[\w.-]{1,60}:/(?:workspace\S{0,80}|app\S{0,80})?# ?",
        ("root@",),
    ),
    Sign("container", "apptainer", r"^(?:Singularity|Apptainer)> ", ("singularity>", "apptainer>")),
    Sign(
        "wsl",
        "yes",
        r"microsoft-standard-WSL|/usr/lib/wsl/|\bWSL ?2\b|" + _START + r"/mnt/[a-z]/",
        ("microsoft-standard-wsl", "/usr/lib/wsl/", "wsl2", "wsl 2", "/mnt/"),
    ),
    # WSL 1, and a heading above what was printed there.
    Sign(
        "wsl",
        "yes",
        r"\bWSL ?1\b|^[#*\s]{0,8}(?:[\w.]{1,20} ){0,4}WSL[*:\s]{0,6}$",
        ("wsl",),
    ),
    # A sentence, not an item of a form.
    Sign(
        "wsl",
        "yes",
        r"\b(?:in|on|under|inside|using|use|fresh|through|via|with) (?:[\w.-]{1,20} ){0,3}"
        r"Windows Subsystem for Linux\b|^[\w ]{0,20}: ?Windows Subsystem for Linux\b",
        ("windows subsystem",),
    ),
    # Windows names a new machine so, and WSL takes its name over into the prompt of bash.
    Sign(
        "wsl",
        "yes",
        r"^(?:\([\w.-]{1,40}\) ?)?[\w.-]{1,40}@(?:DESKTOP|LAPTOP)-[A-Z0-9]{7,8}:[~/]",
        ("@desktop-", "@laptop-"),
    ),
    Sign(
        "jetson",
        "",
        r"\b(?P<value>[Jj]etson(?: (?:AGX |Orin ?|Xavier ?|Nano ?|TX2 ?|NX ?|Thor ?){1,3})?"
        r"|(?:JetPack|Jetpack|jetpack) \d[\d.]{0,5}|L4T \d\d\.\d[\d.]{0,4}|\w{1,20}-tegra\b"
        r"|nvidia-l4t-\w{2,20}"
        r"|nvcr\.io/nvidia/l4t-\w{2,20})",
        ("jetson", "jetpack", "l4t", "-tegra"),
    ),
    # Ultralytics names the GPU of the board: CUDA:0 (Orin, 7337MiB).
    Sign(
        "jetson",
        "",
        r"\bCUDA:0 \((?P<value>Orin|Xavier|Thor|NVIDIA Tegra X\d),",
        ("cuda:0 (",),
    ),
    Sign(
        "conda",
        "",
        r"(?P<value>(?:/|[A-Za-z]:\\)[^\s'\"(=:,`;]{0,200}?"
        r"[/\\](?:mini|ana|mamba|micromamba)(?:conda|forge)3?(?:[/\\]envs[/\\][\w.-]{1,80})?)"
        r"[/\\]",
        ("conda/", "conda3/", "conda\\", "conda3\\", "forge/", "forge3/", "forge\\", "forge3\\"),
    ),
    Sign("conda", "", r"(?P<value>/opt/conda(?:/envs/[\w.-]{1,80})?)/", ("/opt/conda/",)),
    Sign(
        "conda",
        "",
        r"(?P<value>(?:/|[A-Za-z]:\\)[^\s'\"(=:,`;]{0,200}?"
        r"[/\\]\.?(?:conda|micromamba|mamba)[/\\]envs[/\\][\w.-]{1,80})",
        ("envs/", "envs\\"),
    ),
    Sign(
        "conda",
        "a prompt of conda",
        (
            # `(venv)`, `(.venv)` and `(env)` are how activated environments of venv begin a prompt.
            r"^\((?:[a-df-uw-zA-Z\d][\w.-]{0,39}|e[a-mo-z\d_.-][\w.-]{0,38}"
            r"|v[a-df-z\d_.-][\w.-]{0,38})\) (?:[\w.-]{1,40}@|PS |[A-Z]:\\)"
        ),
        ("(base) ", ") ps ", "@", ":\\"),
    ),
    Sign(
        "notebook",
        "Colab",
        r"\bgoogle\.colab\b|" + _START + r"/content/",
        ("google.colab", "/content/"),
    ),
    Sign("notebook", "Kaggle", r"/kaggle/(?:working|input)\b", ("/kaggle/",)),
    Sign(
        "notebook",
        "Jupyter",
        r"<ipython-input-\d|\bCell In ?\[\d|/ipykernel_\d",
        ("<ipython-input", "cell in", "ipykernel_"),
    ),
    Sign(
        "shell",
        "powershell",
        r"^(?:\([\w.-]{1,40}\) )?PS [A-Z]:\\|CategoryInfo {1,10}:|FullyQualifiedErrorId",
        ("ps c:\\", "ps d:\\", "categoryinfo", "fullyqualifiederrorid", "ps e:\\"),
    ),
    Sign("shell", "cmd", r"^(?:\([\w.-]{1,40}\) ?)?[A-Z]:\\[^>\n]{0,200}>\S", (":\\",)),
    Sign("shell", "zsh", r"^zsh: |^[\w.-]{1,40}@[\w.-]{1,60} \S{1,100} % ", ("zsh: ", " % ")),
    Sign(
        "shell",
        "bash",
        r"^-?bash: |/bin/bash: line \d|^(?:\([\w.-]{1,40}\) ?)?[\w.-]{1,40}@[\w.-]{1,60}:"
        r"[^$#\n]{0,200}[$#] ",
        ("bash: ", "@"),
    ),
)
"""Systems, distributions, processors, containers, environments and shells."""
