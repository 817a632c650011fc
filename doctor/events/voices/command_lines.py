"""What argparse, click, Hydra and OmegaConf report of the options and settings they were given.

The wordings stand in Lib/argparse.py, click/exceptions.py, hydra/errors.py and omegaconf/errors.py.
"""

from __future__ import annotations

from doctor.events.forms import Form, Voice

VOICES = (
    Voice(
        "argparse",
        (
            Form(
                "option-unknown",
                r"(?P<program>[\w./\\-]{1,120}\.py)(?: \w{2,20})?: error: unrecognized arguments?: "
                r"(?P<options>\S.{0,200})",
                ("error: unrecognized argument",),
            ),
            Form(
                "option-required",
                r"(?P<program>[\w./\\-]{1,120})(?: \w{2,20})?: error: the following arguments are "
                r"required: (?P<options>\S.{0,200})",
                ("following arguments are required",),
            ),
            Form(
                "option-value",
                r"(?P<program>[\w./\\-]{1,120})(?: \w{2,20})?: error: argument "
                r"(?P<option>[\w/,. -]{1,80}): (?P<said>(?:invalid|expected|not allowed) .{1,300})",
                (": error: argument ",),
            ),
        ),
    ),
    Voice(
        "click",
        (
            Form(
                "option-unknown",
                r"(?:Error: )?No such option:? '?(?P<options>--?[\w-]{1,60})",
                ("no such option",),
            ),
            Form(
                "option-required",
                r"Error: Missing (?:option|argument|parameter):? ['\"](?P<options>[^'\"]{1,80})",
                ("error: missing ",),
            ),
        ),
    ),
    Voice(
        "Hydra",
        (
            Form(
                "setting-unknown",
                r"(?:Could not override '(?P<key>[\w.@/+-]{1,120})'"
                r"|Key '(?P<key2>[\w.-]{1,120})' is not in struct)",
                ("could not override '", "' is not in struct"),
            ),
            Form(
                "setting-missing",
                r"(?:MissingMandatoryValue|MissingConfigException): (?P<said>.{1,200})",
                ("missingmandatoryvalue", "missingconfigexception"),
            ),
        ),
    ),
)
