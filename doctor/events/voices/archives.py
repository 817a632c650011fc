"""Installers about files that arrived damaged, and about lock files that they cannot read.

The wordings are those of Poetry 1.1 to 2.1 (`poetry/installation/executor.py`), of PyPI: installer
0.5 to 0.7 (`installer/sources.py`), and of uv 0.2 to 0.9.
"""

from __future__ import annotations

from doctor.events.forms import Form, Voice

VOICES = (
    Voice(
        "Poetry",
        (
            Form(
                "archive-hash-unknown",
                r"Hash for (?P<package>[\w.-]{1,80}) \((?P<version>[\w.+-]{1,40})\) from archive "
                r"(?P<file>\S{1,200}) not found in known hashes",
                ("not found in known hashes",),
            ),
            Form(
                "archive-hash-unknown",
                r"Invalid hashe?s? \([^)]{1,200}\) for (?P<package>[\w.-]{1,80}) "
                r"\((?P<version>[\w.+-]{1,40})\)",
                ("invalid hash",),
            ),
            Form(
                "archive-record-differs",
                r"In (?P<path>\S{1,300}), hash / size of (?P<member>\S{1,200}) didn't match RECORD",
                ("didn't match record",),
            ),
        ),
    ),
    Voice(
        "uv",
        (
            Form(
                "lock-unreadable",
                r"Failed to parse `(?P<file>(?:[^`]{0,200}/)?(?:uv\.lock|pylock[\w.-]{0,40}))`",
                ("failed to parse `",),
            ),
        ),
    ),
)
