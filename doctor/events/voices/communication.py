"""Communication between processes: NCCL, gloo, MPI, and the rendezvous of torch."""

from __future__ import annotations

from doctor.events.forms import Form, Voice
from doctor.model.events import Level

VOICES = (
    Voice(
        "NCCL",
        (
            Form(
                "nccl-duplicate-gpu",
                r"Duplicate GPU detected ?: rank (?P<rank>\d{1,5}) and rank "
                r"(?P<other>\d{1,5}) both on "
                r"CUDA device (?P<device>[0-9a-fA-F:.]{1,20})",
                ("duplicate gpu detected",),
            ),
            Form(
                "nccl-timeout",
                r"Watchdog caught collective operation timeout: WorkNCCL\((?:SeqNum=(?P<seque"
                r"nce>\d+))?"
                r"(?:, ?OpType=(?P<operation>\w+))?.{0,200}?Timeout\(ms\)=(?P<limit>\d+)",
                ("watchdog caught collective",),
            ),
            Form(
                "nccl-timeout",
                r"(?i)(?:some NCCL operations have failed or timed out|NCCL.{0,60}collective."
                r"{0,40}timed? ?out)",
                ("nccl operations have failed", "nccl"),
                general=True,
            ),
            Form(
                "nccl-collectives-differ",
                r"Your program may be hanging, this may be caused by a collective mismatch around "
                r"rank (?P<rank>\d{1,6})",
                ("your program may be hanging",),
            ),
            Form(
                "nccl-shared-memory-denied",
                r"NCCL WARN.{0,60}(?:Call to shm_open failed|Call to open failed on \S{0,100}"
                r"|shared memory segment (?P<file>\S{1,100})(?: \(size \d{1,20}\))?)"
                r"[^\n]{0,20}: ?(?:Permission denied|Operation not permitted)",
                ("nccl warn",),
            ),
            Form(
                "nccl-ports-used-up",
                r"NCCL WARN.{0,60}(?P<what>Call to bind[^\n]{0,60}failed ?: ?"
                r"(?:Address already in use|Cannot assign requested address))",
                ("nccl warn",),
            ),
            Form(
                "nccl-shared-memory",
                r"NCCL WARN.{0,60}(?:Error while creating shared memory segment "
                r"(?P<file>(?:/dev/shm/)?nccl-\S{1,80})"
                r"|Call to posix_fallocate failed ?: ?(?P<why>[\w ]{3,60})"
                r"|Cuda failure.{0,20}shm|Call to shm_open.{0,60})(?:.{0,30}size (?P<size>\d+))?",
                ("shared memory segment", "posix_fallocate", "shm_open"),
            ),
            Form(
                "nccl-network",
                r"NCCL WARN.{0,20}(?P<what>(?:Call to (?:connect|bind|recv|send|socket|accept"
                r"|ibv_\w+)|socketStartConnect|"
                r"ncclSocket\w+|socketProgress\w*|NET/Socket|NET/IB|NET/OFI|Bootstrap|Net "
                r"?:)[^\n]{0,200})",
                ("nccl warn",),
            ),
            Form(
                "nccl-error",
                r"\bnccl(?:UnhandledCuda|System|Internal|InvalidUsage|InvalidArgument|"
                r"Remote)(?:Error)?\b",
                ("nccl",),
            ),
            Form(
                "nccl-error",
                r"(?i)\bNCCL (?:error|failure)\b[^\n]{0,80}?"
                r"(?P<said>unhan\w{2,5} (?:system|cuda) error|internal error|invalid usage"
                r"|invalid argument|remote)",
                ("nccl error", "nccl failure"),
            ),
            Form(
                "nccl-version-mismatch",
                r"(?i)(?:mismatched|mismatch).{0,30}NCCL version.{0,80}|NCCL "
                r"version.{0,40}mismatch.{0,60}",
                ("nccl version",),
            ),
            Form(
                "nccl-backend-missing",
                r"Distributed package doesn't have NCCL built in",
                ("doesn't have nccl built in",),
            ),
        ),
    ),
    Voice(
        "gloo",
        (
            Form(
                "peer-closed",
                r"\[?\S{0,80}gloo/transport\S{0,60}\]? ?(?P<why>Connection closed by "
                r"peer|Connection reset by peer|"
                r"Read timeout|Timed out|connect[^\n]{0,60})(?: ?\[(?P<peer>[\d.:a-f]{3,60})\])?",
                ("gloo/transport",),
                level=Level.WRAPPER,
            ),
            Form(
                "gloo-address",
                r"Unable to (?:resolve hostname|find address for): ?(?P<host>\S{1,80})"
                r"|makeDeviceForHostname\(\)|makeDeviceForInterface\(\)",
                ("unable to resolve hostname", "unable to find address", "makedevicefor"),
            ),
        ),
    ),
    Voice(
        "torch.distributed",
        (
            Form(
                "rendezvous-timeout",
                r"(?P<what>The client socket has (?:timed out|failed to connect)|Timed out "
                r"initializing process"
                r" group|DistStoreError: Timed out|RendezvousTimeoutError|DistNetworkError: "
                r"The client"
                r" socket)[^\n]{0,120}?(?:\(?(?P<host>[\w.-]{1,80})[,:] ?(?P<port>\d{2,5})\)?)?",
                (
                    "the client socket has",
                    "timed out initializing process group",
                    "diststoreerror",
                    "rendezvoustimeouterror",
                ),
            ),
            Form(
                "port-in-use",
                r"(?i)(?:failed to (?:listen|bind)|EADDRINUSE|address already in use)[^\n]{0,160}?"
                r"port[: ]{1,2}(?P<port>\d{2,5})",
                ("address already in use", "eaddrinuse"),
            ),
            Form(
                "port-in-use",
                r"(?i)\b(?:\[::\]|0\.0\.0\.0|127\.0\.0\.1|localhost|\*)?:(?P<port>\d{2,5})\b["
                r"^\n]{0,80}"
                r"address already in use",
                ("address already in use",),
            ),
            Form(
                "port-in-use",
                r"(?i)(?:Bind for \S{0,40}:(?P<port>\d{2,5}) failed: )?port is already allocated",
                ("port is already allocated",),
            ),
            Form(
                "port-in-use",
                r"(?i)\('[\w.:]{0,40}', (?P<port>\d{2,5})\)[^\n]{0,40}address already in use",
                ("address already in use",),
            ),
            Form(
                "port-in-use",
                r"(?i)\bport (?P<port>\d{2,5}) is already (?:in use|allocated|being used)",
                ("is already in use", "is already allocated", "is already being used"),
            ),
            Form(
                "port-in-use",
                r"(?i)(?:\[Errno 98\]|\[Errno 48\]|os error 98|WinError "
                r"10048|EADDRINUSE|address already in use)",
                (
                    "errno 98",
                    "errno 48",
                    "os error 98",
                    "winerror 10048",
                    "eaddrinuse",
                    "address already in use",
                ),
            ),
            Form(
                "rank-variable-missing",
                r"environment variable (?P<name>RANK|WORLD_SIZE|MASTER_ADDR|MASTER_PORT|LOCAL"
                r"_RANK) expected",
                ("expected, but not set",),
            ),
            Form(
                "rank-variable-missing",
                r"KeyError: ['\"](?P<name>RANK|WORLD_SIZE|MASTER_ADDR|MASTER_PORT|LOCAL_RANK)['\"]",
                ("keyerror: ",),
            ),
            Form(
                "process-group-missing",
                r"Default process group has not been initialized",
                ("default process group has not",),
            ),
            Form(
                "rank-out-of-range",
                r"(?i)\brank (?P<rank>\d{1,5}) (?:>=|is (?:greater|larger) than|must be "
                r"(?:less|smaller)).{0,30}"
                r"(?:world[_ ]size)? ?(?P<size>\d{0,5})",
                ("world_size", "world size"),
            ),
        ),
    ),
    Voice(
        "network",
        (
            Form(
                "proxy-answers",
                r"(?i)<Response \[502\]>|\b502 Bad Gateway\b.{0,120}"
                r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0)"
                r"|(?:localhost|127\.0\.0\.1|0\.0\.0\.0)\S{0,60}.{0,60}\b502 Bad Gateway\b",
                ("502 bad gateway", "response [502]"),
            ),
            Form(
                "connection-refused",
                r"(?i)(?:connect(?:ion)? to |host=['\"]?|connect\(\) to |dial tcp |http://|tcp://)"
                r"(?P<host>\[?[\w.:-]{1,80}?\]?)(?:['\"]?, port=|:)(?P<port>\d{2,5})\b.{0,240}?"
                r"(?:connection refused|actively refused)",
                ("connection refused", "actively refused"),
            ),
            Form(
                "connection-refused",
                r"(?i)\[Errno 111\] Connection refused|os error 111|WinError 10061|ECONNREFUSED"
                r"(?: (?P<host>[\d.:a-f]{3,40}?):(?P<port>\d{2,5}))?",
                ("errno 111", "os error 111", "winerror 10061", "econnrefused"),
            ),
        ),
    ),
)
