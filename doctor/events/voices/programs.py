"""Errors of programs: their files, settings, models, and how they start processes."""

from __future__ import annotations

from doctor.events.forms import Form, Voice
from doctor.model.events import Level

VOICES = (
    Voice(
        "Python",
        (
            Form(
                "interrupted",
                r"^(?:\^C)?(?:\w.{0,60}: )?KeyboardInterrupt(?::|\s*$)|^\^C\s*$",
                ("keyboardinterrupt",),
            ),
            Form(
                "main-guard",
                r"freeze_support\(\)|An attempt has been made to start a new process before the",
                ("freeze_support()", "attempt has been made to start a new process"),
            ),
            Form(
                "not-picklable",
                r"(?:Can't pickle (?:local object )?|cannot pickle )(?P<object>['\"<]?[^'\">"
                r"\n]{1,100})",
                ("can't pickle", "cannot pickle", "can't get local object"),
            ),
            Form(
                "not-picklable",
                r"Can't get (?:local object|attribute) '(?P<object>[\w.<>]{1,100})'",
                ("can't get local object", "can't get attribute"),
            ),
            Form(
                "file-missing",
                r"(?:FileNotFoundError|IOError): \[Errno 2\] No such file or directory: "
                r"b?['\"](?P<file>[^'\"]{1,240})['\"]",
                ("filenotfounderror", "ioerror: "),
            ),
            Form(
                "file-missing",
                r"FileNotFoundError: \[WinError [23]\] [^:\n]{5,120}(?:: '(?P<file>[^']{1,240})')?",
                ("filenotfounderror: [winerror",),
            ),
            Form(
                "file-missing",
                r"can't open file '(?P<file>[^']{1,240})': \[Errno 2\]",
                ("can't open file",),
            ),
            Form(
                "permission-denied",
                r"PermissionError: \[(?:Errno 13|Errno 1|WinError 5)\] [^:\n]{3,80}: "
                r"?['\"](?P<file>[^'\"]{1,240})['\"]",
                ("permissionerror",),
            ),
            Form(
                "broken-json",
                r"(?:json\.decoder\.)?JSONDecodeError: (?P<said>[^\n]{3,120})",
                ("jsondecodeerror",),
            ),
            Form(
                "broken-yaml",
                r"yaml\.(?:scanner\.ScannerError|parser\.ParserError|constructor\.Constructor"
                r"Error): (?P<said>[^\n]{0,120})",
                ("yaml.scanner", "yaml.parser", "yaml.constructor"),
            ),
            Form(
                "too-deep",
                r"RecursionError: maximum recursion depth exceeded",
                ("recursionerror",),
            ),
            Form(
                "own-assertion",
                r"^(?:\[?rank\d{1,4}\]?:? ?)?AssertionError(?:: (?P<said>[^\n]{1,160}))?\s*$",
                ("assertionerror",),
                general=True,
            ),
        ),
    ),
    Voice(
        "transformers",
        (
            Form(
                "model-unknown",
                r"Unrecognized model in (?P<model>\S{1,200}?)\.? Should have a `model_type` key",
                ("unrecognized model in",),
            ),
            Form(
                "tokenizer-missing",
                r"Can't load tokenizer for '(?P<model>[^']{1,200})'",
                ("can't load tokenizer for",),
            ),
            Form(
                "model-file-missing",
                # diffusers reports a file of another format before it takes that: no failure.
                r"(?:^\W{0,3}|(?:OS|Environment|IO|Value)Error: )Error no file named "
                r"(?P<file>[\w.*-]{3,80})"
                r"(?:,.{0,200}?)?(?: found in directory (?P<folder>\S{1,200}?)\.?(?:\s|$))?",
                ("error no file named",),
            ),
            Form(
                "sequence-too-long",
                r"Token indices sequence length is longer than the specified maximum "
                r"sequence length for this model"
                r" \((?P<length>\d+) > (?P<limit>\d+)\)",
                ("token indices sequence length",),
                level=Level.WARNING,
            ),
            Form(
                "pad-token-missing",
                r"(?:Asking to pad but the tokenizer does not have a padding token|Cannot "
                r"handle batch sizes > 1 if "
                r"no padding token is defined)",
                ("asking to pad but", "no padding token is defined"),
            ),
        ),
    ),
    Voice(
        "checkpoint",
        (
            Form(
                "wrong-magic",
                r"(?i)invalid magic (?:number|characters)[^\n]{0,80}|bad magic",
                ("invalid magic", "bad magic"),
            ),
            Form(
                "gguf-architecture",
                r"unknown model architecture: '(?P<architecture>[\w.-]{1,60})'",
                ("unknown model architecture",),
            ),
        ),
    ),
)
