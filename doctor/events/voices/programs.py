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
                "read-only",
                r"OSError: \[Errno 30\] [^:\n]{3,60}: ?['\"](?P<file>[^'\"]{1,240})['\"]",
                ("errno 30",),
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
                "model-type-unknown",
                r"model (?:of )?type `?'?(?P<type>[\w.-]{2,60})`?'? but Transformers does "
                r"not recognize this architecture",
                ("transformers does not recognize this",),
            ),
            Form(
                "tokenizer-missing",
                r"Can't load tokenizer for '(?P<model>[^']{1,200})'",
                ("can't load tokenizer for",),
            ),
            Form(
                "model-file-missing",
                r"(?:Error no file named|does not appear to have a file named) "
                r"(?P<file>[\w.*-]{3,80})"
                r"(?:,.{0,200}?)?(?: found in directory (?P<folder>\S{1,200}?)\.?(?:\s|$))?",
                ("error no file named", "does not appear to have a file named"),
            ),
            Form(
                "not-a-model-name",
                r"(?P<name>\S{1,200}) is not a local folder and is not a valid model identifier",
                ("is not a local folder and is not",),
            ),
            Form(
                "gated-model",
                r"(?i)(?:Cannot access gated repo for url (?P<url>\S{5,200})|You are trying "
                r"to access a gated repo"
                r"|Access to model (?P<model>\S{3,120}) is restricted|GatedRepoError)",
                ("gated repo", "is restricted", "gatedrepoerror"),
            ),
            Form(
                "token-refused",
                r"(?i)401 Client Error: Unauthorized for url: (?P<url>https://huggingface\.co"
                r"\S{0,200})"
                r"|Invalid (?:user token|credentials in Authorization header)",
                ("401 client error", "invalid user token", "invalid credentials in"),
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
                "not-safetensors",
                r"(?i)(?:SafetensorError|safetensors_rust\.SafetensorError).{0,60}(?P<said>He"
                r"aderTooLarge|InvalidHeader"
                r"\w{0,20}|MetadataIncompleteBuffer|HeaderTooSmall|incomplete metadata[^\n]{0,60})",
                ("safetensorerror", "safetensors"),
            ),
            Form(
                "wrong-magic",
                r"(?i)invalid magic (?:number|characters)[^\n]{0,80}|bad magic|invalid load "
                r"key, ?'(?P<key>[^']{1,8})'"
                r"|PytorchStreamReader failed reading zip archive: (?P<said>[^\n]{3,80})",
                ("invalid magic", "bad magic", "invalid load key", "failed reading zip archive"),
            ),
            Form(
                "gguf-architecture",
                r"unknown model architecture: '(?P<architecture>[\w.-]{1,60})'",
                ("unknown model architecture",),
            ),
        ),
    ),
)
