"""The libraries of Hugging Face, safetensors and pickle about repositories and files of models.

The wordings are those of huggingface_hub 0.10 to 1.2, transformers 4 and 5, diffusers, safetensors
0.3 to 0.6, and torch 1.13 to 2.9 (torch/serialization.py).
"""

from __future__ import annotations

from doctor.events.forms import Form, Voice

VOICES = (
    Voice(
        "Hugging Face",
        (
            Form(
                "model-gated",
                r"(?:Cannot access gated repo for url (?P<url>\S{1,300}?)\.?(?:\s|$)|trying to a"
                r"ccess a gated repo|Access to model (?P<repository>\S{1,200}) is restricted)",
                ("cannot access gated repo", "access a gated repo", "access to model "),
            ),
            Form(
                "pipeline-part-not-passed",
                r"Pipeline <class '(?P<pipeline>diffusers_modules[\w.]{1,200})'> expected "
                r"(?P<parts>\{[^}]{1,600}\}), but only \{[^}]{0,600}\} were passed",
                ("but only {",),
            ),
            Form(
                "model-not-found",
                r"Repository Not Found for url: (?P<url>\S{1,300}?)\.?$",
                ("repository not found for url",),
            ),
            Form(
                "model-not-found",
                r"(?P<repository>[\w./-]{1,200}) is not a local folder and is not a valid model "
                r"identifier",
                ("is not a valid model identifier",),
            ),
            Form(
                "model-file-not-found",
                r"(?P<repository>[\w./\\: -]{1,200}?) does not appear to have (?:a file named|fi"
                r"les named) (?P<file>[^.]{1,40}[\w.-]{1,60})",
                ("does not appear to have a file named", "does not appear to have files named"),
            ),
            Form(
                "model-file-not-found",
                r"(?:EntryNotFoundError: 404|Entry Not Found for url: (?P<url>\S{1,300}?)\.?$)",
                ("entrynotfounderror: 404", "entry not found for url"),
            ),
            Form(
                "model-revision-not-found",
                r"(?:Revision Not Found for url: (?P<url>\S{1,300}?)\.?$|RevisionNotFoundError)",
                ("revision not found for url", "revisionnotfounderror"),
            ),
            Form(
                "hub-token-refused",
                r"(?:401 Client Error: Unauthorized for url: https://(?:[\w.-]{0,40}\.)?(?:huggi"
                r"ngface\.co|hf\.co)\S{0,200}|Invalid (?:user token|username or password)|Invali"
                r"d credentials in Authorization header)",
                (
                    "401 client error: unauthorized for url",
                    "invalid user token",
                    "invalid username or password",
                    "invalid credentials in authorization",
                ),
            ),
            Form(
                "hub-too-many-requests",
                r"429 Client Error: Too Many Requests for url: https://(?:[\w.-]{0,40}\.)?(?:hug"
                r"gingface\.co|hf\.co)",
                ("429 client error",),
            ),
            Form(
                "hub-offline",
                r"(?:outgoing traffic has been disabled|offline mode is enabled|OfflineModeIsEna"
                r"bled|Cannot reach \S{1,200}: offline)",
                (
                    "outgoing traffic has been disabled",
                    "offline mode is enabled",
                    "offlinemodeisenabled",
                ),
            ),
            Form(
                "hub-not-reached",
                r"(?:error happened while trying to locate the file on the Hub|couldn't connect "
                r"to '(?P<url>https?://[^']{1,200})'|(?:thrown while request"
                r"ing (?:HEAD|GET) (?P<address>https://huggingface\.co\S{1,200})))",
                (
                    "couldn't connect to 'http",
                    "trying to locate the file on the hub",
                    "thrown while requesting",
                ),
            ),
            Form(
                "hub-name-invalid",
                r"Repo id must (?:be in the form|use alphanumeric)[^:]{0,200}: '(?P<repository>["
                r"^']{1,300})'",
                ("repo id must ",),
            ),
            Form(
                "remote-code-not-trusted",
                r"(?:requires you to execute the (?:configuration|modeling|tokenizer|code)\w{0,2"
                r"0} (?:file|in)|contains custom code which must be executed to correctly load)",
                ("requires you to execute", "contains custom code which must be executed"),
            ),
            Form(
                "remote-code-package-missing",
                r"requires the following packages that were not found in your environment: (?P<p"
                r"ackages>[\w., -]{1,300}?)\. Run",
                ("packages that were not found in your environment",),
            ),
            Form(
                "model-type-unknown",
                r"(?:model type|type) [`'](?P<type>[\w.-]{1,80})[`'] but Transformers does not r"
                r"ecognize",
                ("does not recognize this",),
            ),
        ),
    ),
    Voice(
        "safetensors",
        (
            Form(
                "weights-not-weights",
                r"(?:deserializing header: )(?P<what>HeaderTooLarge|InvalidHeader\b|InvalidHeade"
                r"rDeserialization|HeaderTooSmall|InvalidHeaderStart|header too large|invalid he"
                r"ader\w{0,40})",
                ("deserializing header",),
            ),
            Form(
                "weights-cut-short",
                r"deserializing header: (?P<what>MetadataIncompleteBuffer|incomplete metadata)",
                ("metadataincompletebuffer", "incomplete metadata"),
            ),
        ),
    ),
    Voice(
        "torch",
        (
            Form(
                "weights-not-weights",
                r"UnpicklingError: invalid load key, '(?P<key>[^']{1,8})'",
                ("invalid load key",),
            ),
            Form(
                "weights-cut-short",
                r"(?:PytorchStreamReader failed (?:reading zip archive|reading file)|unexpected "
                r"EOF, expected \d{1,12} more bytes|Ran out of input|pickle data was truncated)",
                (
                    "pytorchstreamreader failed",
                    "unexpected eof, expected",
                    "ran out of input",
                    "pickle data was truncated",
                ),
            ),
        ),
    ),
    Voice(
        "git-lfs",
        (
            Form(
                "weights-not-weights",
                r"version https://git-lfs\.github\.com/spec/(?P<what>v\d)",
                ("https://git-lfs.github.com/spec",),
            ),
        ),
    ),
)
