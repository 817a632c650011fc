"""Installers of Python packages: pip, uv, Poetry.

The wordings are those of pip 19 to 26 (pip/_internal/{exceptions,index,req,resolution,utils}),
uv 0.2 to 0.9 and Poetry 1.1 to 2.
"""

from __future__ import annotations

from doctor.events.forms import Form, Voice
from doctor.model.events import Level

_WHEEL = r"(?P<wheel>[\w.+!%-]{1,250}\.whl)"
_REQUIREMENT = r"(?P<requirement>[A-Za-z][\w.,\[\]-]{0,100}[^()\n]{0,100}?)"

VOICES = (
    Voice(
        "pip",
        (
            Form(
                "wheel-refused",
                rf"{_WHEEL} is not a supported wheel on this platform",
                (".whl is not a supported",),
            ),
            Form(
                "no-version",
                rf"Could not find a version that satisfies the requirement {_REQUIREMENT} "
                r"\((?:from [^()]{1,200}(?:\([^()]{0,60}\))?\) \()?from versions: (?P<versions>["
                r"^)]{0,999})",
                ("could not find a version that satisfies",),
            ),
            # A paste, or a pip, without the list.
            Form(
                "no-version",
                r"^\s{0,8}(?:ERROR: )?Could not find a version that satisfies the requirement "
                rf"{_REQUIREMENT}(?: \(from (?:[^()v]|v[^()e])[^()]{{0,200}}\))?\s*$",
                ("could not find a version that satisfies",),
            ),
            Form(
                "no-version",
                rf"No matching distribution found for {_REQUIREMENT}(?: \(from |$)",
                ("no matching distribution found for",),
                level=Level.WRAPPER,
            ),
            Form(
                "python-refused",
                r"Package '?(?P<package>[\w.-]{1,100})'? requires a different Python: "
                r"(?P<python>\d[\w.+]{0,20}) not in '(?P<wanted>[^']{1,80})'",
                ("requires a different python",),
            ),
            Form(
                "python-refused",
                r"(?P<package>[\w.-]{1,100}) requires Python '(?P<wanted>[^']{1,80})' but the ru"
                r"nning "
                r"Python is (?P<python>\d[\w.+]{0,20})",
                ("but the running python is",),
            ),
            Form(
                "connection-failed",
                r"Retrying \(Retry\(total=\d{1,3}.{0,120}after connection broken by "
                r"[\"'](?P<what>\w{1,60})(?P<detail>.{0,600})",
                ("after connection broken by",),
                level=Level.WARNING,
            ),
            Form(
                "connection-failed",
                r"Could not fetch URL (?P<url>\S{1,300}): (?P<detail>.{0,300})",
                ("could not fetch url",),
                level=Level.WARNING,
            ),
            Form(
                "connection-failed",
                r"HTTP error (?P<status>\d{3}) while getting (?P<url>\S{1,300})",
                ("http error ",),
            ),
            Form(
                "connection-failed",
                r"(?P<status>\d{3}) (?:Client|Server) Error: .{0,80} for url: (?P<url>https?://"
                r"\S{1,300})",
                ("client error: ", "server error: "),
            ),
            Form(
                "connection-failed",
                r"(?P<what>ReadTimeoutError|ConnectTimeoutError|IncompleteRead|ProtocolError|Pro"
                r"xyError|SSLError)"
                r"(?:\(|: )(?P<detail>.{0,300})",
                (
                    "readtimeouterror",
                    "connecttimeouterror",
                    "incompleteread",
                    "protocolerror",
                    "proxyerror",
                    "sslerror",
                ),
                level=Level.WARNING,
            ),
            Form(
                "hash-mismatch",
                r"THESE PACKAGES DO NOT MATCH THE HASHES",
                ("do not match the hashes",),
            ),
            Form(
                "path-too-long",
                r"\[Errno 2\] No such file or directory: '(?P<path>[A-Za-z]:\\[^']{230,600})'",
                ("no such file or directory: '",),
            ),
            Form(
                "path-too-long",
                r"Windows Long Path|warnings/enable-long-pa"
                r"|(?:The )?filename or extension is too long",
                ("windows long path", "enable-long-pa", "filename or extension is too long"),
            ),
            Form(
                "file-locked",
                r"\[WinError (?:5|32)\] (?P<what>[^:]{1,120}): '(?P<path>[^']{1,400})'",
                ("[winerror 5]", "[winerror 32]"),
            ),
            Form(
                "no-permission",
                r"\[Errno 13\] Permission denied: '(?P<path>[^']{1,400}(?:site-packages|dist-pac"
                r"kages|[/\\]bin[/\\]|\.cache)[^']{0,300})'",
                ("permission denied: '",),
            ),
            Form(
                "no-permission",
                r"\[Errno 30\] Read-only file system: '(?P<path>[^']{1,400})'",
                ("read-only file system: '",),
            ),
            Form(
                "externally-managed",
                r"externally-managed-environment|interpreter at `[^`]{1,300}` is externally mana"
                r"ged",
                ("externally-managed-environment", "is externally managed"),
            ),
            Form(
                "no-project",
                r"(?:Directory '(?P<path>[^']{1,300})' is not installable\.|(?:file://)?(?P<fold"
                r"er>\S{1,300}) does not appear to be a Python project)"
                r"",
                ("is not installable", "does not appear to be a python project"),
            ),
            Form(
                "no-project",
                r"(?P<path>\S{1,300}) is not a valid editable requirement",
                ("is not a valid editable requirement",),
            ),
            Form(
                "no-project",
                r"Invalid requirement: '(?P<path>\.{0,2}[/\\][^']{1,300}|[^']{1,200}[/\\][^']{1,"
                r"300})'",
                ("invalid requirement: '",),
            ),
            Form(
                "file-not-there",
                r"Could not open requirements file: \[Errno 2\] No such file or directory: '(?P<"
                r"path>[^']{1,300})'",
                ("could not open requirements file",),
            ),
            Form(
                "metadata-invalid",
                r"(?:Requested (?P<package>\S{1,200}) (?:from \S{1,400} )?has invalid metadata|P"
                r"lease use pip<24\.1|invalid metadata: )",
                ("has invalid metadata", "please use pip<24.1"),
            ),
            Form(
                "git-failed",
                r"(?P<what>fatal: .{1,300})",
                (
                    "fatal: unable to access",
                    "fatal: could not read",
                    "fatal: repository '",
                    "fatal: remote error",
                    "fatal: couldn't find remote ref",
                    "fatal: authentication failed",
                ),
            ),
        ),
    ),
    Voice(
        "uv",
        (
            Form(
                "no-fitting-wheel",
                r"(?P<requirement>[A-Za-z][\w.-]{0,80}(?:[=<>!~]=?[\w.+*]{1,40})?) has no (?:usa"
                r"ble )?wheels with a matching "
                r"(?:Python (?P<part>version|implementation|ABI)|(?P<platform>platform)) tag"
                r"(?: \(e\.g\., `(?P<tag>[^`]{1,60})`\))?",
                ("wheels with a matching",),
            ),
            Form(
                "no-fitting-wheel",
                r"(?P<requirement>[A-Za-z][\w.-]{0,80}(?:[=<>!~]=?[\w.+*]{1,40})?) has no (?:usa"
                r"ble wheels|source distribution or wheel|source distribution)",
                ("has no usable wheels", "has no source distribution"),
            ),
            Form(
                "no-fitting-wheel",
                r"Distribution `(?P<requirement>[^`@]{1,120})(?: @ [^`]{1,200})?` can't be insta"
                r"lled because "
                r"it doesn't have a source distribution or wheel for the current platform",
                ("or wheel for the current platform",),
            ),
            Form(
                "no-version",
                r"there (?:is no version|are no versions) of (?P<requirement>[A-Za-z][\w.-]{0,80"
                r"}(?:\{[^}]{1,80}\}|[=<>!~]=?[\w.+*]{1,40})?)",
                ("there is no version of", "there are no versions of"),
            ),
            Form(
                "no-version",
                r"Because (?P<requirement>[A-Za-z][\w.-]{0,80}) was not found in the (?P<registr"
                r"y>package registry|provided package locations)",
                ("was not found in the ",),
            ),
            Form(
                "python-refused",
                r"the (?:current|requested) Python version \((?P<python>[^)]{1,30})\) does not s"
                r"atisfy "
                r"Python(?P<wanted>[<>=!~][^ ]{1,60}) and (?P<package>[^ ]{1,100}(?: and [^ ]{1,"
                r"100})?) "
                r"depends? on Python",
                ("does not satisfy python",),
                joined=True,
            ),
            Form(
                "wheel-refused",
                r"A (?:URL|path) dependency is incompatible with the current platform: "
                rf"\S{{0,400}}?{_WHEEL}",
                ("dependency is incompatible with the current platform",),
            ),
            Form(
                "wheel-refused",
                rf"the wheel (?:filename )?[`\"']?{_WHEEL}[`\"']? is not compatible",
                ("is not compatible",),
            ),
            Form(
                "hash-mismatch",
                r"Hash mismatch for `(?P<requirement>[^`]{1,200})`",
                ("hash mismatch for",),
            ),
            Form(
                "connection-failed",
                r"(?:Failed to (?:fetch|download)[: ]|error sending request for url \(|Request f"
                r"ailed after \d{1,3} retries)(?P<url>`?\S{0,400})",
                (
                    "failed to fetch",
                    "failed to download",
                    "error sending request for url",
                    "request failed after",
                ),
            ),
            Form(
                "connection-failed",
                r"(?P<what>tcp connect error|dns error|operation timed out|invalid peer certific"
                r"ate|error resolving DNS)(?P<detail>.{0,200})",
                (
                    "tcp connect error",
                    "dns error",
                    "operation timed out",
                    "invalid peer certificate",
                    "error resolving dns",
                ),
            ),
            Form(
                "connection-failed",
                r"HTTP status (?:client|server) error \((?P<status>\d{3}) [^)]{1,60}\) for url "
                r"\((?P<url>[^)]{1,400})\)",
                ("http status client error", "http status server error"),
            ),
        ),
    ),
    Voice(
        "Poetry",
        (
            Form(
                "no-fitting-wheel",
                r"Unable to find installation candidates for (?P<requirement>[\w.-]{1,100}) \((?"
                r"P<version>[^)]{1,60})\)",
                ("unable to find installation candidates",),
            ),
            Form(
                "python-refused",
                r"The current project's (?:supported Python range|Python requirement) \((?P<pyth"
                r"on>[^)]{1,80})\) is not compatible with some of the required packages Python r"
                r"equirement",
                ("is not compatible with some of the required packages",),
            ),
        ),
    ),
)
