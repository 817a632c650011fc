"""Explain what datasets, tokenizers and data loaders report of data."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import code
from doctor.analyzers.texts import Text, explained
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Severity

_SOUND = " The installation is sound."


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what is wrong with data, or with the release that reads them."""
    for one in explained(case, _TABLE):
        type_found = one.event.objects.get("found", "")
        if one.event.kind == "operator-argument-type" and type_found not in _PATHS:
            continue
        yield one


_PATHS = frozenset({"PosixPath", "WindowsPath", "Path", "pathlib.PosixPath"})
_ANEW = code(
    "Make the data set anew, without the check of its sizes",
    "the call that loads the data",
    'load_dataset(name, verification_mode="no_checks", download_mode="force_redownload")',
    before="load_dataset(name)",
)
_NEWEST = Recipe(
    title="Take the newest datasets",
    steps=(Action(install=("datasets",), options=(Option.UPGRADE, Option.HOLD_TORCH)),),
)

_TABLE: dict[str, Text] = {
    "data-script-refused": Text(
        "datasets 4 runs no scripts of data sets, and {script} is one",
        "Since 4.0 datasets reads data files only (Parquet, JSON, CSV …), and trust_remote_code is "
        "gone.",
        (
            Recipe(
                title="Go back to the last datasets that runs scripts",
                note="The script is a program of a stranger: it wants trust_remote_code=True.",
                steps=(Action(install=("datasets<4",), options=(Option.HOLD_TORCH,)),),
            ),
            code(
                "Load the data as Parquet, which the hub makes of many data sets",
                "the call that loads the data",
                'load_dataset(name, revision="refs/convert/parquet")',
                before="load_dataset(name)",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "data-script-missing": Text(
        "datasets finds no data at {path}",
        "There is no such folder, it holds no data file that datasets knows, or the hub was not "
        "reached: a name without a folder is looked up there.",
        (
            code(
                "Name the format and the files",
                "the call that loads the data",
                'load_dataset("json", data_files="<file>")',
                before='load_dataset("{log.path}")',
                note="A relative path counts from the folder in which the program was started.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "data-glob-refused": Text(
        "This datasets is too old for the installed fsspec",
        "fsspec 2023.9 changed what ** means in a pattern, and datasets before 2.14.6 still writes "
        "it the old way.",
        (
            _NEWEST,
            Recipe(
                title="Go back to the fsspec from before",
                steps=(Action(install=("fsspec<=2023.6.0",)),),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "data-cache-refused": Text(
        "This datasets is too old for the installed fsspec (LocalFileSystem)",
        "fsspec 2023.10 calls its local files by another name, which datasets before 2.14.6 takes "
        "for a remote one.",
        (
            _NEWEST,
            Recipe(
                title="Go back to the fsspec from before",
                steps=(Action(install=("fsspec<2023.10.0",)),),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "data-splits-differ": Text(
        "The data set has other sizes or parts than its description says",
        "A download stopped, files in the cache are old, or the data changed and their description "
        "did not.",
        (_ANEW,),
        precision=Precision.EXACT,
    ),
    "data-feature-unknown": Text(
        "The data set was made by a newer datasets: it has no feature type {feature} here",
        "datasets 4 writes the type List in place of Sequence, and older releases do not know it.",
        (
            _NEWEST,
            code(
                "Make the data set anew with this datasets",
                "the call that loads the data",
                'load_dataset(name, download_mode="force_redownload")',
                before="load_dataset(name)",
                use_if=("an old cache is the cause, and not the data set itself",),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "data-columns-differ": Text(
        "The data files do not have one form: {said}",
        "Arrow reads each column with one type. A file or row has another type or other columns, "
        "or is no JSON of one object per line." + _SOUND,
        (
            code(
                "Name the files that belong together, and the types",
                "the call that loads the data",
                'load_dataset("json", data_files=[...], features=features)',
                before='load_dataset("<folder>")',
                note="Put files of other columns into another folder, and write one object on each "
                "line. A field that is text here and a list there has to become one of both.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "text-of-other-type": Text(
        "The tokenizer gets something that is no text",
        "A row of the data is None, a number (NaN of an empty cell) or a list of lists." + _SOUND,
        (
            code(
                "Hand in text alone",
                "before the call of the tokenizer",
                "texts = [str(text) for text in texts if text is not None]",
                note="In pandas: frame = frame.dropna(subset=['text']).",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "inputs-not-given": Text(
        "The model gets neither {one} nor {other}",
        "An encoder-decoder model wants labels or decoder_input_ids beside its input. Otherwise "
        "the "
        "data reach the model under another name, or columns were removed." + _SOUND,
        (
            code(
                "Look at what reaches the model",
                "before the call of the model",
                "print(batch.keys())",
                note="The Trainer drops columns that forward() does not name. For T5 and BART: "
                "model(input_ids=..., labels=...).",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "batch-not-stacked": Text(
        (
            "The samples of a batch have different shapes: {a} and {b}",
            "The samples of a batch have different shapes",
        ),
        "The data loader puts the samples of a batch into one tensor, which needs equal shapes. "
        "Pictures have other sizes or channels (grey, RGBA), or texts other lengths." + _SOUND,
        (
            code(
                "Give the samples one shape in the data set",
                "the data set, or its transforms",
                'image = image.convert("RGB")\ntransforms.Resize((height, width))',
                note="Texts and boxes want padding, or a collate_fn of their own.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "batch-sizes-of-loss": Text(
        "The loss gets {a} predictions and {b} labels",
        "A reshape moved samples between the batch and another dimension, mostly view(-1, n) with "
        "an n that does not fit the size of the pictures." + _SOUND,
        (
            code(
                "Keep the batch in front when flattening",
                "the forward() of the model",
                "x = torch.flatten(x, 1)",
                before="x = x.view(-1, n)",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "indices-not-whole": Text(
        "The argument {argument} wants whole numbers, and gets {type}",
        "An embedding looks rows up, and takes Long or Int." + _SOUND,
        (
            code(
                "Make them whole numbers",
                "the call of the layer",
                "embedding(x.long())",
                before="embedding(x)",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "operator-argument-type": Text(
        "An operator of torch wants {wanted} and gets a {found}",
        "Operators in C++ take a path as text only. The caller hands in a pathlib.Path.",
        (
            code(
                "Hand in the path as text",
                "the call that stands in the traceback",
                "torchaudio.load(str(path))",
                before="torchaudio.load(path)",
                note="Where a package makes the call, a newer release of it may do so already.",
            ),
        ),
        precision=Precision.EXACT,
    ),
}
