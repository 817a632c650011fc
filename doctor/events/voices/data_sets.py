"""What datasets, pyarrow, tokenizers and torch's data loader report of data.

The wordings stand in datasets (load.py, builder.py, features.py), in transformers' tokenizers and
in torch/utils/data.
"""

from __future__ import annotations

from doctor.events.forms import Form, Voice
from doctor.model.events import Level

VOICES = (
    Voice(
        "datasets",
        (
            Form(
                "data-script-refused",
                r"Dataset scripts are no longer supported, but found (?P<script>[\w.-]{1,120})",
                ("dataset scripts are no longer",),
            ),
            Form(
                "data-script-missing",
                r"Couldn't find (?:a dataset script|any data file) at (?P<path>\S{1,200}?)"
                r"(?: or any data file|\.(?:\s|$))",
                ("couldn't find a dataset script", "couldn't find any data file"),
            ),
            Form(
                "data-glob-refused",
                r"Invalid pattern: '\*\*' can only be an entire path component",
                ("can only be an entire path",),
            ),
            Form(
                "data-cache-refused",
                r"Loading a dataset cached in a LocalFileSystem is not supported",
                ("dataset cached in a localfilesystem",),
            ),
            Form(
                "data-splits-differ",
                r"(?:NonMatchingSplitsSizes|ExpectedMoreSplits|UnexpectedSplits"
                r"|NonMatchingChecksum)Error",
                (
                    "nonmatchingsplitssizes",
                    "expectedmoresplits",
                    "unexpectedsplits",
                    "nonmatchingchecksum",
                ),
            ),
            Form(
                "data-feature-unknown",
                r"Feature type '(?P<feature>\w{1,40})' not found",
                ("feature type '",),
            ),
            Form(
                "data-columns-differ",
                r"ArrowInvalid: JSON parse error: (?P<said>.{1,160})"
                r"|(?P<said2>Couldn't cast array of type .{1,120})"
                r"|(?P<said3>All the data files must have the same columns)",
                ("json parse error: ", "couldn't cast array of type", "must have the same columns"),
            ),
            Form(
                "data-not-made",
                r"DatasetGeneration(?:Cast)?Error: An error occurred while generating the dataset",
                ("occurred while generating the dataset",),
                level=Level.WRAPPER,
            ),
        ),
    ),
    Voice(
        "transformers",
        (
            Form(
                "text-of-other-type",
                r"text input must be of type `str`|TextEncodeInput must be Union\["
                r"|text input must be of type `?str",
                ("text input must be of type", "textencodeinput must be union"),
            ),
            Form(
                "inputs-not-given",
                r"You have to specify either (?P<one>\w{1,40}) or (?P<other>\w{1,40})",
                ("you have to specify either ",),
            ),
        ),
    ),
    Voice(
        "torch",
        (
            Form(
                "batch-not-stacked",
                r"stack expects each tensor to be equal size, but got \[(?P<a>[\d, ]{1,60})\] at "
                r"entry \d{1,6} and \[(?P<b>[\d, ]{1,60})\]",
                ("stack expects each tensor",),
            ),
            Form(
                "batch-not-stacked",
                r"Trying to resize storage that is not resizable",
                ("resize storage that is not",),
            ),
            Form(
                "batch-sizes-of-loss",
                r"Expected input batch_size \((?P<a>\d{1,9})\) to match target batch_size "
                r"\((?P<b>\d{1,9})\)",
                ("to match target batch_size",),
            ),
            Form(
                "indices-not-whole",
                r"Expected tensor for argument #\d '(?P<argument>\w{1,40})' to have one of the "
                r"following scalar types: Long, Int; but got (?P<type>[\w.]{1,60})",
                ("following scalar types: long, int",),
            ),
            Form(
                "operator-argument-type",
                r"Expected a value of type '(?P<wanted>[\w\[\]., ]{1,60})' for argument "
                r"'?(?P<argument>\w{1,40})'? but instead found type '(?P<found>[\w.]{1,60})'",
                ("but instead found type '",),
            ),
        ),
    ),
)
