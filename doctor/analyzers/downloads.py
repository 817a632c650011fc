"""Explain downloads that failed: what kept the connection from its host, or what it answered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.recipes import UNIX
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe
from doctor.model.scales import Confidence

_HOST = re.compile(
    r"https?://([\w.-]{1,100})|host='([\w.-]{1,100})'|HTTPS?Connection\(([\w.-]{1,100})"
)

_HUB = re.compile(r"huggingface\.co|hf\.co\b|hf-mirror")


_NEAR = 12


class _Failure(NamedTuple):
    """One way in which a connection fails: its signs, a title and a cause."""

    sign: re.Pattern[str]
    title: str
    cause: str
    recipes: tuple[Recipe, ...] = ()


def _retry(title: str = "Try again with more patience") -> Recipe:
    return Recipe(
        title=title,
        use_if=("pip was installing",),
        steps=(Action(env={"PIP_RETRIES": "10", "PIP_DEFAULT_TIMEOUT": "120"}),),
        lasting=False,
    )


_CERTIFICATE = Recipe(
    title="Trust the certificates of the system",
    use_if=("pip is 24.2 or newer, or uv is used", "the network has a proxy of its own"),
    steps=(
        Action(env={"PIP_USE_FEATURE": "truststore", "UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1"}),
    ),
    note="Where the company's certificate is a file, SSL_CERT_FILE and REQUESTS_CA_BUNDLE name it.",
)

_PROXY = Recipe(
    title="Tell the installer the proxy",
    use_if=("the network is reached only by a proxy",),
    steps=(Action(env={"HTTPS_PROXY": "<proxy>", "HTTP_PROXY": "<proxy>"}),),
    ask={"proxy": "the address of the proxy, as http://host:port"},
)

_NO_PROXY = Recipe(
    title="See which proxy is set",
    steps=(Action(run=("sh", "-c", "env | grep -i _proxy; pip config list")),),
    use_if=(UNIX,),
    lasting=False,
)

_FAILURES = (
    _Failure(
        re.compile(
            r"CERTIFICATE_VERIFY_FAILED|SSLCertVerification|certificate verify failed"
            r"|invalid peer certificate|self.signed certificate",
            re.IGNORECASE,
        ),
        "The certificate of {host} is not trusted here",
        "A proxy of the company puts its own certificate in the place of the server's, the "
        "certificates of this Python are missing or old, or the clock is wrong.",
        (_CERTIFICATE,),
    ),
    _Failure(
        re.compile(r"ProxyError|Cannot connect to proxy|Tunnel connection failed|407 Proxy", re.I),
        "The proxy does not let the connection to {host} through",
        "The variables HTTP_PROXY and HTTPS_PROXY, or pip's configuration, name a proxy that does "
        "not answer or refuses.",
        (_NO_PROXY, _PROXY),
    ),
    _Failure(
        re.compile(
            r"Name or service not known|name resolution|getaddrinfo failed|nodename nor servname"
            r"|dns error|error resolving DNS|No address associated|NameResolutionError"
            r"|Could not resolve host|\[Errno -[235]\]|Errno 11001",
            re.IGNORECASE,
        ),
        "The name of {host} is not resolved: this machine has no network, or no DNS",
        "Nothing was downloaded, so that later lines about missing versions or files say nothing "
        "about the package itself. In a container or on a compute node the network may be off.",
        (_PROXY,),
    ),
    _Failure(
        re.compile(
            r"Connection refused|Errno 111|WinError 10061|Network is unreachable|Errno 101", re.I
        ),
        "No connection to {host}: it is refused or unreachable",
        "Nothing answers there: the address is wrong, the server is down, or a firewall is "
        "between.",
        (_PROXY,),
    ),
    _Failure(
        re.compile(r"timed? ?out|Timeout|ConnectTimeout", re.IGNORECASE),
        "The connection to {host} timed out",
        "The network is slow or blocked. Later lines about missing versions or files say nothing "
        "about the package itself.",
        (_retry(), _PROXY),
    ),
    _Failure(
        re.compile(
            r"IncompleteRead|Connection reset|Connection aborted|RemoteDisconnected"
            r"|EOF occurred|ProtocolError|connection was closed|UNEXPECTED_EOF",
            re.I,
        ),
        "The connection to {host} broke while something was downloaded",
        "The network, a proxy or the server ended it. Large wheels fail most.",
        (_retry(),),
    ),
)

_STATUS = {
    "401": "{host} wants credentials, and got none or wrong ones",
    "403": "{host} refuses this: no rights, a blocked network, or a file that is not for everybody",
    "404": "{host} has no such file or project",
    "407": "The proxy wants credentials",
    "416": "{host} refuses to go on with a download that was begun",
    "429": "{host} refuses because there were too many requests from here",
    "500": "{host} has a failure of its own",
    "502": "{host} has a failure of its own",
    "503": "{host} has a failure of its own",
    "504": "{host} has a failure of its own",
}


_INSTALLER = re.compile(
    r"\b(?:pip|uv|conda|mamba|poetry|pdm|pipenv|pixi|hatch)\b|^\s{0,8}(?:Collecting|Downloading) \S"
    r"|distutils|setuptools|PackageIndex|package index"
)
"""What shows that packages were fetched."""


def explain(case: Case) -> Iterator[Explanation]:
    """Yield one explanation of failed connections."""
    yield from _connection(case)


def _connection(case: Case) -> Iterator[Explanation]:
    events = list(case.of("connection-failed"))
    if not events or _recovered(case, events[-1]):
        return
    failures = [event for event in events if event.objects.get("status")] or events
    event = failures[0]
    near = " ".join(case.log.lines[max(event.at - 4, 0) : event.at + _NEAR])[:8000]
    if _HUB.search(near) or _HUB.search(event.text):
        return  # the Hub is answered by hugging_face.py
    hosts = [next(one for one in match.groups() if one) for match in _HOST.finditer(near)]
    index = any(_INSTALLER.search(line) for line in case.log.lines)
    host = hosts[0] if hosts else "the package index" if index else "the server"
    status = event.objects.get("status", "")
    recipes: tuple[Recipe, ...] = ()
    if status in _STATUS:
        title, cause = _STATUS[status].format(host=host), _of_status(status)
        recipes = (_retry("Try again later"),) if status[0] == "5" or status == "429" else ()
    else:
        found = next((one for one in _FAILURES if one.sign.search(near)), None)
        if found is None:
            return
        title, cause, recipes = found.title.format(host=host), found.cause, found.recipes
    yield Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("torch/no-wheel-*", "torch/release-not-*"),
        detection=detection(
            event,
            title,
            cause,
            recipes=recipes,
            confidence=Confidence.HIGH,
            name="connection-failed",
        ),
    )


def _of_status(status: str) -> str:
    return {
        "401": "A private index or a private repository was asked.",
        "403": "Nothing on this machine has to be installed for it.",
        "404": "The address, the name or the release is wrong, or the file was taken away.",
        "416": "Part of the file lies in the cache; without the cache it is fetched whole.",
        "429": "Waiting helps, and so does a token or a cache of one's own.",
    }.get(status, "It is on the other side; try again later.")


def _recovered(case: Case, event: Event) -> bool:
    """Say whether the installation went on and ended well."""
    rest = case.log.lines[event.at + 1 :]
    return any(
        one in line
        for line in rest
        for one in ("Successfully installed", "Successfully downloaded", "Successfully built")
    )
