"""Mask the names of people and machines: those of this machine, and those in logs."""

from __future__ import annotations

import re
from collections.abc import Mapping

from doctor.base.lazy_pattern import Pattern
from doctor.redact.words import words

_EVERYBODY = words("everybody")
_PUBLIC = words("public_hosts")
_STAYING = ("127.", "0.0.0.0", "255.")  # noqa: S104

_EMAIL = Pattern(r"\b[A-Za-z0-9][\w.+-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}\b")
_PROMPT = Pattern(
    r"(^|[\s\"'(\[])([a-z_][\w.-]{0,31})@([A-Za-z0-9][\w.-]{0,62})(:[~/]|:\S{0,100}[$#%](?:\s|$)"
    r"|\s[\w~./-]{1,60}\][$#%])",
    re.MULTILINE,
)
_SSH = Pattern(
    r"\b((?:ssh|scp|sftp|rsync|mosh|srun"
    r"|pdsh)\b[^\n]{0,160}?\s)([a-z_][\w.-]{0,31})@([A-Za-z0-9][\w.-]{0,62})"
)
_HOME = Pattern(
    r"(/(?:home|Users|export/home|data/home|nfs/home|gpfs/home|mnt/c/Users"
    r"|c/Users)/)([^/\s\"'`:;,<>|$\[\](){}*?\\]{1,64})"
)
_WINDOWS_HOME = Pattern(
    r"(?i)\b([A-Z]:(?:\\{1,4}|/)(?:Users|Documents and Settings)(?:\\{1,4}"
    r"|/))([^\\/\n\"':;<>|*?]{1,64})"
)
_IPV4 = Pattern(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")
_NETWORK = Pattern(
    r"(?i)(?:://|@|\b(?:ip|inet|inet6|addr|addrs|address|host|hosts|hostname|server|peer|client"
    r"|node|from|to|via|at|on|gateway|dns|endpoint|remote|master_addr|nodes"
    r"|connect|connected|connecting|listening|bind|bound|ping|ssh|route|interface|socket"
    r"|rank\d{0,4}|eth\d|bond\d|ib\d|is|rhost|refused)[\"'\s:=(\[/<]{1,4})$"
)
_PORT = Pattern(r":\d{2,5}\b|/\d{1,2}\b|<\d{2,5}>")
_RELEASE = Pattern(
    r"(?i)(?:==|>=|<=|~=|[-_@+]|\bv|\b(?:version|release|driver|cudnn|cublas|cufft|curand|cusolver"
    r"|cusparse|nccl|npp|toolkit)[\s:=]{1,3})$"
)
_IPV6 = Pattern(
    r"\b[0-9A-Fa-f]{1,4}:(?:[0-9A-Fa-f]{0,4}:){2,6}[0-9A-Fa-f]{1,4}\b|\b(?:fe80|f[cd][0-9a-f]{2}"
    r"|2[0-9a-f]{3})::[0-9A-Fa-f:]{1,32}\b"
)
_MAC = Pattern(r"\b(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\b")
_OF_AWS = Pattern(
    r"\bip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}\b(?:\.[\w.-]{1,64}(?:internal|amazonaws\.com))?"
)
_URL_HOST = Pattern(
    r"(?i)(\b[a-z][a-z0-9+.-]{1,20}://(?:\[hidden\]@"
    r"|[^\s/@:\"'<>]{1,64}@)?)([A-Za-z0-9][\w.-]{0,253})"
)
_INTERNAL = Pattern(
    r"\b(?:[A-Za-z0-9][\w-]{0,62}\.){1,8}(?:local|internal|intranet|lan|corp|localdomain|cluster"
    r"|intra|home\.arpa)\b"
)
_INNER = (".local", ".inter", ".intra", ".lan", ".corp", ".cluster", ".home.arpa")
"""One of them stands in whatever `_INTERNAL` matches."""
_TOLD_HOST = Pattern(
    r"(?i)\b((?:hostnames?|host|node|nodename|nodelist|master_addr|slurmd_nodename|rhost"
    r"|server)[\"']?[ \t]{0,8}"
    r"[=:][ \t]{0,4}[\"']?)([A-Za-z][\w.-]{2,62})"
)
_HOST_WORDS = ("host", "node", "master_addr", "server")
"""One of them stands in each word of `_TOLD_HOST`."""
_NCCL = Pattern(r"(?m)^([A-Za-z][\w.-]{1,62})(:\d{1,8}:\d{1,8} \[)")
_SYSLOG = Pattern(
    r"(?m)^((?:\w{3} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.+Z-]{8,26}) "
    r")([A-Za-z][\w.-]{1,62})( [\w./-]{1,40}(?:\[\d{1,8}\])?:)"
)
_NO_HOST = frozenset(
    {
        "localhost",
        "none",
        "null",
        "true",
        "false",
        "cpu",
        "cuda",
        "gpu",
        "default",
        "auto",
        "user",
        "example",
        "unknown",
        "machine",
        "compiler",
    }
)


def _whole(name: str) -> re.Pattern[str]:
    """Match a name where it stands alone; a path may follow anything (`-I/home/alice`)."""
    before = r"\b" if name[0].isalnum() or name[0] == "_" else ""
    return re.compile(rf"{before}{re.escape(name)}(?![\w-])")


class Mask:
    """Replace the home folder by `$HOME`, and user and host names by placeholders.

    Of others too: mail addresses, addresses of networks, hosts that are not public, the names in
    `/home/NAME` and its kin.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        """`names` maps a placeholder (`$HOME`, `<user>`, `<host>`) to what it stands for.

        Short names are left alone.
        """
        ordered = sorted(names.items(), key=lambda item: -len(item[1]))
        self._rules = [(real, _whole(real), mask) for mask, real in ordered if len(real) >= 4]

    def __call__(self, text: str) -> str:
        """Return the text masked."""
        for real, rule, mask in self._rules:
            if real in text:
                text = rule.sub(mask.replace("\\", r"\\"), text)
        return without_names(text)


def without_names(text: str) -> str:
    """Return a text in which no other person and no other machine is named.

    What everybody uses stays. A pattern is searched for where a text that it cannot match without
    stands: most texts of a report hold none of them.
    """
    if "@" in text:
        text = _SSH.sub(_login, _PROMPT.sub(_prompt, _EMAIL.sub(_email, text)))
    if "ome/" in text or "sers" in text or "ocuments" in text:
        text = _WINDOWS_HOME.sub(_home, _HOME.sub(_home, text))
    if text.count(".") >= 3:
        text = _IPV4.sub(_ipv4, text)
    return _without_hosts(_without_addresses(text))


def _without_addresses(text: str) -> str:
    colons = text.count(":")
    if colons >= 3 or "::" in text:
        text = _IPV6.sub(_ipv6, text)
    if colons + text.count("-") >= 5:
        text = _MAC.sub("<address>", text)
    return _OF_AWS.sub("<host>", text) if "ip-" in text else text


def _without_hosts(text: str) -> str:
    if "://" in text:
        text = _URL_HOST.sub(_host, text)
    if ":" in text or "=" in text:
        small = text.casefold()
        if any(word in small for word in _HOST_WORDS):
            text = _TOLD_HOST.sub(_masked_host, text)
        if " [" in text:
            text = _NCCL.sub(r"<host>\2", text)
        if text.count(":") >= 3 or "T" in text:
            text = _SYSLOG.sub(r"\1<host>\3", text)
    return _INTERNAL.sub(_internal, text) if any(word in text for word in _INNER) else text


def _email(found: re.Match[str]) -> str:
    user, _, host = found[0].partition("@")
    staying = user.lower() in ("git", "noreply", "packages") or host.lower() in (
        "example.com",
        "example.org",
    )
    return found[0] if staying or _is_public(host) else "<email>"


def _prompt(found: re.Match[str]) -> str:
    user = found[2] if found[2] in _EVERYBODY else "<user>"
    return found[0] if found[2] == "git" else f"{found[1]}{user}@<host>{found[4]}"


def _login(found: re.Match[str]) -> str:
    staying = found[2] == "git" or _is_public(found[3])
    return (
        found[0]
        if staying
        else f"{found[1]}{found[2] if found[2] in _EVERYBODY else '<user>'}@<host>"
    )


def _home(found: re.Match[str]) -> str:
    known = (
        found[2].lower() in _EVERYBODY
        or found[2].lower() in ("public", "all users")
        or found[2].startswith(("<", "..."))
    )
    return found[0] if known else f"{found[1]}user"


def _ipv4(found: re.Match[str]) -> str:
    text, address = found.string, found[0]
    before, behind = (
        text[max(found.start() - 40, 0) : found.start()],
        text[found.end() : found.end() + 8],
    )
    if (
        address.startswith(_STAYING)
        or any(int(part) > 255 for part in address.split("."))
        or before.endswith(".")
        or behind[:1] == "."
    ):
        return address
    if _RELEASE.search(before) and not _NETWORK.search(before):
        return address
    private = address.startswith("192.168.") or (
        address.startswith("172.") and 16 <= int(address.split(".")[1]) <= 31
    )
    return "<address>" if private or _NETWORK.search(before) or _PORT.match(behind) else address


def _ipv6(found: re.Match[str]) -> str:
    import ipaddress

    try:
        address = ipaddress.IPv6Address(found[0])
    except ValueError:
        return found[0]
    return found[0] if address.is_loopback or address.is_unspecified else "<address>"


def _is_public(host: str) -> bool:
    parts = host.lower().rstrip(".").split(".")
    return any(".".join(parts[number:]) in _PUBLIC for number in range(len(parts) - 1))


def _host(found: re.Match[str]) -> str:
    host = found[2].rstrip(".-")
    staying = (
        _is_public(host)
        or host.lower() in _NO_HOST
        or host.replace(".", "").isdigit()
        or host.endswith((".example", ".example.org", ".example.com"))
    )
    return (
        found[0]
        if staying or found[1].startswith("file")
        else f"{found[1]}<host>{found[2][len(host) :]}"
    )


def _masked_host(found: re.Match[str]) -> str:
    host = found[2].rstrip(".-")
    staying = (
        host.lower() in _NO_HOST
        or _is_public(host)
        or not (any(char.isdigit() for char in host) or "." in host or "-" in host)
    )
    return found[0] if staying else f"{found[1]}<host>{found[2][len(host) :]}"


def _internal(found: re.Match[str]) -> str:
    # threading.local is none
    telling = (
        "-" in found[0]
        or any(char.isdigit() for char in found[0])
        or found[0].count(".") > 1
        or found[0].endswith(".internal")
    )
    return "<host>" if telling and not _is_public(found[0]) else found[0]
