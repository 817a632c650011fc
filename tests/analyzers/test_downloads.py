"""Downloads and writes that fail; each text is genuine output of pip, uv, git or Python."""

from __future__ import annotations

import pytest

from doctor.model.scales import Severity
from tests.analyzers.packages import explained, hostile, told

RETRY = (
    "Looking in indexes: https://pypi.org/simple\n"
    "WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after "
    "connection broken by '{}': /simple/numpy/\n"
    "ERROR: Could not find a version that satisfies the requirement numpy (from versions: none)"
)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            RETRY.format(
                "NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object at "
                "0x7f5fb00d5fa0>: Failed to establish a new connection: [Errno -2] Name or service "
                "not known')"
            ),
            "The name of pypi.org is not resolved: this machine has no network, or no DNS",
        ),
        (
            RETRY.format(
                "SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] "
                "certificate "
                "verify failed: unable to get local issuer certificate (_ssl.c:1006)'))"
            ),
            "The certificate of pypi.org is not trusted here",
        ),
        (
            RETRY.format(
                "ProxyError('Cannot connect to proxy.', OSError('Tunnel connection failed'))"
            ),
            "The proxy does not let the connection to pypi.org through",
        ),
        (
            (
                "error: Request failed after 3 retries in 5.1s\n"
                "  cause: Failed to fetch: http://127.0.0.1:9/simple/numpy/\n"
                "  cause: tcp connect error\n  cause: Connection refused (os error 111)"
            ),
            "No connection to 127.0.0.1: it is refused or unreachable",
        ),
        (
            "ERROR: HTTP error 403 while getting https://download.pytorch.org/whl/nightly/x.whl",
            (
                "download.pytorch.org refuses this: no rights, a blocked network, or a file "
                "that is not "
                "for everybody"
            ),
        ),
    ],
)
def test_connections(text: str, title: str) -> None:
    assert told("downloads", text).detection.title == title


def test_a_download_that_recovered() -> None:
    """A second attempt went well."""
    text = RETRY.format("ReadTimeoutError('timed out')") + "\nSuccessfully installed numpy-2.0.0"
    assert not explained("downloads", text)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            "OSError: [Errno 28] No space left on device: '/home/ada/.cache/pip/x'",
            "The disk that holds /home/ada/.cache/pip/x is full, or its quota is used up",
        ),
        (
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.",
            "A downloaded file is not the one whose hash is expected",
        ),
        (
            "PermissionError: [Errno 13] Permission denied: '/usr/lib/python3/dist-packages/x'",
            "This user may not write to /usr/lib/python3/dist-packages/x",
        ),
        (
            "OSError: [Errno 30] Read-only file system: '/home/ada/.triton'",
            "/home/ada/.triton lies on a read-only file system",
        ),
        (
            (
                "OSError: [WinError 32] The process cannot access the file because it is being "
                "used by "
                "another process: 'C:\\\\ai\\\\torch\\\\lib\\\\c10.dll'"
            ),
            ("Windows refuses to change C:\\ai\\torch\\lib\\c10.dll: another program has it open"),
        ),
        (
            (
                "fatal: unable to access 'https://github.com/x/y.git/': Could not resolve "
                "host: github.com"
            ),
            (
                "git could not fetch a repository: fatal: unable to access "
                "'https://github.com/x/y.git/': "
                "Could not resolve host: github.com"
            ),
        ),
    ],
)
def test_writes(text: str, title: str) -> None:
    assert told("disk_writes", text).detection.title == title


def test_a_file_that_is_not_there_is_a_note() -> None:
    text = (
        "ERROR: Could not open requirements file: [Errno 2] No such file or directory: "
        "'requirements.txt'"
    )
    assert told("disk_writes", text).detection.severity is Severity.NOTE


def test_hostile_texts() -> None:
    hostile(
        "downloads",
        (
            "Retrying (Retry(total=0 after connection broken by 'SSLError",
            "HTTP error 403 while getting https://",
        ),
    )
    hostile(
        "disk_writes",
        ("[Errno 28] No space left on device: '", "[WinError 5] x: '", "fatal: repository '"),
    )
