"""What is made to be shared names no person and no machine, and keeps what a diagnosis needs."""

from __future__ import annotations

import io

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.catalog import loading as catalog
from doctor.pipeline.assess import assess
from doctor.pipeline.logs import observation_from_logs, read_log
from doctor.redact import people
from doctor.redact.people import Mask, without_names
from tests.promises.sources import ROOT

MASKED = (
    (
        "/home/alice/venv/lib/python3.11/site-packages/torch",
        "/home/user/venv/lib/python3.11/site-packages/torch",
    ),
    ("-I/home/alice/include -L/Users/bob/lib", "-I/home/user/include -L/Users/user/lib"),
    (r"C:\Users\Alice Smith\AppData\Local\Temp", r"C:\Users\user\AppData\Local\Temp"),
    (r'"C:\\Users\\alice\\x.py"', r'"C:\\Users\\user\\x.py"'),
    ("c:/users/alice/anaconda3", "c:/users/user/anaconda3"),
    ("/mnt/c/Users/alice/x", "/mnt/c/Users/user/x"),
    ("Author: Alice <alice.smith@corp-mail.io>", "Author: Alice <<email>>"),
    ("alice@gpu-node-7:~/train$ python x.py", "<user>@<host>:~/train$ python x.py"),
    ("[alice@login01 train]$ make", "[<user>@<host> train]$ make"),
    ("root@4f3a2b1c:/workspace# ls", "root@<host>:/workspace# ls"),
    ("ssh -p 22 -i k alice@gpu-node-7 ls", "ssh -p 22 -i k <user>@<host> ls"),
    ("connect to 10.1.2.3:29500 failed", "connect to <address>:29500 failed"),
    ("MASTER_ADDR=10.0.0.12", "MASTER_ADDR=<address>"),
    ("inet 192.168.1.17/24 brd", "inet <address>/24 brd"),
    ("server 203.0.113.9 refused", "server <address> refused"),
    ("fe80::1ff:fe23:4567:890a via 2001:db8:0:1::17", "<address> via <address>"),
    ("link/ether 02:42:ac:11:00:02", "link/ether <address>"),
    ("ip-172-31-5-9.ec2.internal is down", "<host> is down"),
    ("https://nexus.corp-mail.io/simple/torch", "https://<host>/simple/torch"),
    ("http://gpu-node-7:8000/v1", "http://<host>:8000/v1"),
    ("https://[hidden]@nexus.corp-mail.io/simple", "https://[hidden]@<host>/simple"),
    ("  host      : gpu-node-03", "  host      : <host>"),
    ("hostname=node17.cluster", "hostname=<host>"),
    ("gpu-node-7:4242:4299 [0] NCCL INFO Bootstrap", "<host>:4242:4299 [0] NCCL INFO Bootstrap"),
    ("Nov 22 09:10:11 gpu-node-7 kernel: NVRM: Xid", "Nov 22 09:10:11 <host> kernel: NVRM: Xid"),
    ("reached db-1.svc.cluster.local", "reached <host>"),
)
STAYING = (
    "/home/runner/work/x/x /home/ubuntu/venv /home/jovyan /Users/Shared",
    "127.0.0.1:29500 0.0.0.0:8000 http://localhost:8000 http://127.0.0.1:8888/lab ::1",
    (
        "nvidia-curand-cu12==10.3.5.147 cudnn 8.9.2.26 "
        "nvidia_cublas_cu12-12.4.5.8-py3-none-manylinux2014_x86_64.whl"
    ),
    "libcudnn.so.9.1.0.70: version 12.8.0.1",
    "cuFFT version: 11.2.1.3 driver 535.104.12.1",
    (
        "https://download.pytorch.org/whl/cu128 https://pypi.org/simple "
        "https://files.pythonhosted.org/packages/a/b"
    ),
    (
        "https://github.com/pytorch/pytorch/issues/1 git@github.com:pytorch/pytorch.git "
        "nvcr.io/nvidia/pytorch:24.10-py3"
    ),
    "GPU-8f3d1c5e-1a2b-4c3d-9e8f-0a1b2c3d4e5f 0000:41:00.0 12:34:56",
    (
        "memcpy@GLIBC_2.14 __cxa_throw@CXXABI_1.3 flash_attn@v2.7.4 uuid@3.4.0: Please upgrade to "
        "version 7 or higher > x"
    ),
    "std::vector<c10::SymInt> at::native::fa::ce",
    "threading.local torch.distributed.nn /usr/local/cuda",
    "host: linux, device: cuda:0, node: None",
    "packages@pytorch.org noreply@github.com",
)


@pytest.mark.parametrize(("text", "masked"), MASKED)
def test_names_and_addresses_are_masked(text: str, masked: str) -> None:
    assert without_names(text) == masked
    assert without_names(masked) == masked


@pytest.mark.parametrize("text", STAYING)
def test_what_a_diagnosis_needs_stays(text: str) -> None:
    assert without_names(text) == text


@given(st.text(), st.sampled_from([text for text, _ in MASKED]))
def test_any_text_keeps_its_lines(text: str, line: str) -> None:
    both = f"{text}\n{line}"
    assert without_names(both).count("\n") == both.count("\n")


def _by_every_rule(text: str) -> str:
    text = people._SSH.sub(
        people._login, people._PROMPT.sub(people._prompt, people._EMAIL.sub(people._email, text))
    )
    text = people._WINDOWS_HOME.sub(people._home, people._HOME.sub(people._home, text))
    text = people._IPV6.sub(people._ipv6, people._IPV4.sub(people._ipv4, text))
    text = people._OF_AWS.sub("<host>", people._MAC.sub("<address>", text))
    text = people._TOLD_HOST.sub(people._masked_host, people._URL_HOST.sub(people._host, text))
    text = people._SYSLOG.sub(r"\1<host>\3", people._NCCL.sub(r"<host>\2", text))
    return people._INTERNAL.sub(people._internal, text)


_LINES = st.sampled_from([*(text for text, _ in MASKED), *STAYING])


@given(st.lists(_LINES | st.text(), max_size=3), st.data())
def test_no_rule_is_left_out_that_would_change_a_text(
    lines: list[str], data: st.DataObject
) -> None:
    text = "\n".join(lines)
    cut = data.draw(st.integers(0, len(text)))
    assert without_names(text[cut:]) == _by_every_rule(text[cut:])
    assert without_names(text[:cut]) == _by_every_rule(text[:cut])


def test_names_are_masked_as_whole_words() -> None:
    mask = Mask({"$HOME": "/home/alice", "<user>": "alice", "<host>": "box1"})
    shown = mask("/home/alice/venv of alice on box1, malice in boxes /srv/alices")
    assert shown == "$HOME/venv of <user> on <host>, malice in boxes /srv/alices"


def test_a_path_is_masked_behind_a_flag() -> None:
    assert Mask({"$HOME": "/home/alice"})("gcc -I/home/alice/include") == "gcc -I$HOME/include"


def test_short_names_are_left_alone() -> None:
    assert Mask({"<user>": "al"})("al says hello") == "al says hello"


def test_a_log_without_names_is_diagnosed_alike() -> None:
    known = catalog.load()
    for path in sorted((ROOT / "fixtures" / "cases").rglob("*.yaml"))[::9]:
        log = read_log("log", io.BytesIO(path.read_bytes()), known)
        masked = msgspec.structs.replace(log, lines=tuple(map(without_names, log.lines)))
        both = [
            assess(observation_from_logs((one,)), known, command="diagnose").findings
            for one in (log, masked)
        ]
        assert [found.id for found in both[0]] == [found.id for found in both[1]], path.name
