"""What Python's clients of the network say where no way leads to a server.

urllib wraps the error of the socket into URLError (Lib/urllib/request.py); urllib3 names the host
and its own class of the error (src/urllib3/exceptions.py).
"""

from __future__ import annotations

from doctor.events.forms import Form, Voice

VOICES = (
    Voice(
        "Python",
        (
            Form(
                "no-network",
                r"<urlopen error \[Errno (?P<errno>-[235]|101|110|111|113|11001)\] "
                r"(?P<what>[^>]{3,100})>",
                ("<urlopen error [errno ",),
            ),
            Form(
                "no-network",
                r"^(?:\w{1,40}\.){0,4}(?:ConnectionError|NewConnectionError|ConnectTimeout|MaxRetryError)"
                r"\b.{0,40}host='(?P<host>[\w.-]{1,100})'.{0,600}?"
                r"\[Errno (?P<errno>-[235]|101|110|111|113)\] (?P<what>[\w ]{3,80})",
                ("host='",),
            ),
        ),
    ),
)
"""A connection that a program, no installer, could not make."""
