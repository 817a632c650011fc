"""What the wordings of ordinary failures mean; the first rule that fits counts."""

from __future__ import annotations

import re
from typing import NamedTuple

from doctor.analyzers.case import Precision
from doctor.analyzers.recipes import code
from doctor.analyzers.texts import Text

_PANDAS = re.compile(r"[/\\]pandas[/\\]")


class Rule(NamedTuple):
    """What one wording means; `own` wants the program's own code in the innermost frame."""

    pattern: str
    text: Text
    own: bool = False
    inside: re.Pattern[str] | None = None


def _look(title: str, after: str, *, before: str = "", note: str = "") -> Text:
    """Return a text without words, to be filled by `_replace`."""
    recipe = code(title, "the line of your own code in the traceback", after, note=note)
    if before:
        recipe = code(title, "the line of your own code", after, before=before, note=note)
    return Text("", "", (recipe,), precision=Precision.ADVICE)


def _rule(
    pattern: str,
    titles: str | tuple[str, ...],
    cause: str,
    fix: Text,
    *,
    own: bool = False,
    inside: re.Pattern[str] | None = None,
) -> Rule:
    return Rule(pattern, fix._replace(titles=titles, causes=cause), own, inside)


_NUMBERS = r"[\d, -]{1,80}"
RULES = (
    _rule(
        r"'(?P<name>[A-Z]\w{1,80})' object has no attribute 'module'",
        "{name} is not wrapped for several GPUs, and the program asks for its .module",
        "Only DataParallel and DistributedDataParallel have .module, which is the model inside of "
        "them. On one GPU, or on the CPU, the program has the model itself.",
        _look(
            "Take what is inside only where the model is wrapped",
            'inner = model.module if hasattr(model, "module") else model\ninner.state_dict()',
            before="model.module.state_dict()",
            note="Or start it as its README does, on several GPUs with torchrun.",
        ),
    ),
    _rule(
        r"'(?P<name>(?:Distributed)?DataParallel)' object has no attribute "
        r"'(?P<asked>\w{1,60})'",
        "{name} wraps the model: {asked} belongs to the model inside of it",
        "What wraps a model for several GPUs passes on its call alone. Attributes and methods of "
        "the model lie in .module.",
        _look("Ask the model inside", "model.module.{log.asked}", before="model.{log.asked}"),
    ),
    _rule(
        r"\bKeyError: [\"(]?(?:None of )?\[?(?:Index\(\[)?['\"](?P<name>[^'\"\n]{1,80})['\"]",
        "The table has no column {name}",
        "pandas looks the name up exactly: capital letters, blanks at the ends and the type count "
        "(1 is not '1'). Several columns are asked for by a list in the brackets.",
        _look(
            "See how the columns are called, then use one of these names",
            "print(table.columns.tolist())",
            note='Several: table[["a", "b"]]. Blanks: table.columns = table.columns.str.strip().',
        ),
        inside=_PANDAS,
    ),
    _rule(
        r"cannot reshape array of size (?P<size>\d{1,18}) into shape \(?(?P<shape>[\d, -]{1,80})",
        "{size} values do not fill the shape ({shape})",
        "The numbers of a shape, multiplied, have to give the number of values. One of them may "
        "be -1 and is then worked out.",
        _look(
            "Print the shape before the call, and leave one number open",
            "print(values.shape)\nvalues.reshape(len(values), -1)",
        ),
    ),
    _rule(
        rf"inconsistent numbers of samples: \[(?P<counts>{_NUMBERS})\]",
        "Inputs and targets have other numbers of rows: {counts}",
        "Each row of the inputs needs one target. Usual causes: a split or a filter that was "
        "applied to one of them, or train and test in one call.",
        _look(
            "Print both shapes, and make both from the same split",
            "print(X.shape, y.shape)\n"
            "X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2)",
        ),
    ),
    _rule(
        r"Expected 2D array, got (?P<what>1D|scalar) array instead",
        "scikit-learn wants a table (2D), and gets a {what} array",
        "The first dimension are the samples, the second the features.",
        _look(
            "Make a table of it",
            "model.predict(x.reshape(1, -1))   # one sample\n"
            "model.fit(x.reshape(-1, 1), y)    # one feature",
            note='Of a table of pandas: table[["column"]] instead of table["column"].',
        ),
    ),
    _rule(
        r"X has (?P<a>\d{1,9}) features?, but (?P<model>\w{1,80}) is expecting (?P<b>\d{1,9}) feat",
        "{model} was trained on {b} columns, and gets {a}",
        "The columns of what is predicted have to be those of the training, in the same order, "
        "after the same steps of preparation.",
        _look(
            "Send both through the same prepared columns",
            "columns = X_train.columns\nmodel.predict(X_new[columns])",
            note="What fit_transform() made for the training is made by transform() for new data.",
        ),
    ),
    _rule(
        r"Error tokenizing data\. C error: Expected (?P<a>\d{1,9}) fields? in line "
        r"(?P<line>\d{1,12}), saw (?P<b>\d{1,9})",
        "Line {line} of the file has {b} fields, the lines above {a}",
        "The file has another separator, begins with lines that are no table, or is no CSV at all "
        "(a page of HTML, JSON).",
        _look(
            "See the first lines, then name the separator or skip lines",
            "print(open(path).read(500))\n"
            "table = pd.read_csv(path, sep=None, engine='python', skiprows=0)",
            note="sep=None finds the separator. on_bad_lines='skip' leaves such lines out, and "
            "their data.",
        ),
    ),
    _rule(
        r"expected sequence of length (?P<a>\d{1,12}) at dim \d{1,2} \(got (?P<b>\d{1,12})\)"
        r"|Can't convert non-rectangular Python sequence to Tensor"
        r"|setting an array element with a sequence",
        (
            "Rows of {a} and of {b} values do not make one tensor",
            "Rows of other lengths do not make one array",
        ),
        "Each row has to have the same length. Texts have other numbers of tokens each.",
        _look(
            "Have the tokenizer fill up to one length",
            'tokenizer(texts, padding=True, truncation=True, return_tensors="pt")',
            note="Of numbers: fill up, or keep a list.",
        ),
    ),
    _rule(
        r"(?:not enough|too many) values to unpack(?: \(expected (?P<a>[\w ]{1,20})"
        r"(?:, got (?P<b>\d{1,9}))?)?",
        (
            "The line takes {a} values apart, and gets {b}",
            "The line takes {a} values apart, and gets another number",
            "The line takes another number of values apart than it gets",
        ),
        "The names on the left of the equal sign are not as many as the values on the right: a "
        "function returns another number than is expected, or a row of data is incomplete.",
        _look("See what is there before it is taken apart", "print(type(value), value)"),
        own=True,
    ),
    _rule(
        r"asyncio\.run\(\) cannot be called from a running event loop"
        r"|This event loop is already running",
        "A notebook runs an event loop already, and a second one cannot be started",
        "Jupyter runs one for itself. A library that starts its own inside of a cell fails.",
        _look(
            "Await the call in the cell, or allow loops inside of loops",
            "result = await call()\n# or, once: import nest_asyncio; nest_asyncio.apply()",
        ),
    ),
    _rule(
        r"RateLimitError: .{0,60}429.{0,400}(?:insufficient_quota|exceeded your current quota)",
        "The service refuses requests: the account has no credit left",
        "Waiting does not help: the month's limit is reached or nothing was paid in.",
        _look("Pay in, or take a key of another project", "export OPENAI_API_KEY=<key>"),
    ),
    _rule(
        r"RateLimitError: .{0,60}429",
        "The service refuses requests: more in a minute than the account may send",
        "The limit counts requests or tokens of a minute, and the message says when it is over. "
        "Programs that send many at once reach it first.",
        _look(
            "Send fewer at once, and repeat after a wait",
            "client = OpenAI(max_retries=8)",
            note="In frameworks: fewer workers, a smaller batch, or shorter prompts.",
        ),
    ),
    _rule(
        r"Expected more than 1 value per channel when training",
        "BatchNorm gets one single sample in training",
        "It needs at least two values for each channel. The last batch holds one sample, or each "
        "GPU of DataParallel gets one.",
        _look(
            "Leave the last batch out if it is smaller",
            "DataLoader(data, batch_size=32, shuffle=True, drop_last=True)",
            note="For predictions: model.eval() first.",
        ),
    ),
    _rule(
        rf"The shape of the mask \[(?P<a>{_NUMBERS})\] at index \d{{1,2}} does not match the shape "
        rf"of the indexed tensor \[(?P<b>{_NUMBERS})\]",
        "The mask has the shape [{a}], the tensor [{b}]",
        "A mask of bool picks values of the first dimensions, which have to be as long as it.",
        _look("Print both shapes before the line", "print(mask.shape, tensor.shape)"),
        own=True,
    ),
    _rule(
        rf"value tensor of shape \[(?P<a>{_NUMBERS})\] cannot be broadcast to indexing result of "
        rf"shape \[(?P<b>{_NUMBERS})\]",
        "Values of the shape [{a}] are assigned to a place of [{b}]",
        "What stands on the left of the assignment picks another number of rows than there are on "
        "the right. A last batch that is smaller is a usual cause.",
        _look(
            "Take the number of rows from the values", "out[start : start + len(values)] = values"
        ),
        own=True,
    ),
    _rule(
        r"FileExistsError: \[(?:Errno 17|WinError 183)\][^'\"]{1,99}['\"](?P<file>[^'\"\n]{1,300})",
        "{file} exists already",
        "The program makes it anew, and an earlier run left it.",
        _look("Accept a folder that exists", "os.makedirs(path, exist_ok=True)"),
    ),
    _rule(
        r"cannot identify image file ['\"]?(?P<file>[^'\"\n]{1,300})",
        "{file} is no picture that Pillow can read",
        "The file is empty, stopped halfway, or is of another kind than its name says (a page of "
        "HTML, HEIC, a file ._ of macOS).",
        _look(
            "Find the files that cannot be read, then download them again or leave them out",
            "for path in paths:\n    try:\n        Image.open(path).verify()\n"
            "    except Exception as error:\n        print(path, error)",
        ),
    ),
    _rule(
        r"Out of range float values are not JSON compliant",
        "The answer holds NaN or infinite numbers, which JSON does not have",
        "The model made them: mostly an overflow of float16, or a sampling without probabilities. "
        "The server fails only when it writes them down.",
        _look(
            "Run the model in bfloat16, or in float32",
            "--dtype bfloat16",
            before="--dtype float16",
            note="GPUs before Ampere have no bfloat16: take float32 there.",
        ),
    ),
    _rule(
        r"Expected a torch\.device with a specified index or an integer, but got: ?"
        r"(?P<device>\w{2,12})",
        "{device} names no number of a device, and the call wants one",
        "The function asks for one certain GPU, and the name alone leaves it open.",
        _look("Name the number as well", 'device = torch.device("cuda:0")', before='"cuda"'),
    ),
    _rule(
        r"TypeError: Got unsupported ScalarType (?P<type>BFloat16|Float8\w{0,20})",
        "NumPy has no {type}",
        "The tensor cannot become an array of NumPy in its own type.",
        _look("Make it float32 first", "array = tensor.float().cpu().numpy()"),
    ),
    _rule(
        r"invalid literal for int\(\) with base \d{1,2}: (?P<value>['\"][^\n]{0,80}['\"])",
        "int() gets the text {value}, which is no whole number",
        "A decimal point, a blank line, or a word stands where the program expects digits.",
        _look("Read it as a number with a point first", "int(float(text))"),
        own=True,
    ),
    _rule(
        r"\b(?P<function>\w{1,60})\(\) takes from 0 to 1 positional arguments but \d{1,3} "
        r"positional argument",
        "{function}() takes its values by name",
        "Newer releases of plotting and of other libraries want name=value for all but the first "
        "one, where older ones took them in their order.",
        _look("Name the values", "sns.scatterplot(x=a, y=b)", before="sns.scatterplot(a, b)"),
    ),
    _rule(
        r"'NoneType' object (?:has no attribute '(?P<name>\w{1,60})'|is not \w{4,20})"
        r"|object of type ['‘]NoneType['’] has no len"
        r"|unsupported operand type\(s\) for [^\n]{1,8}: [^\n]{0,40}'NoneType'",
        (
            "None stands where an object with {name} is expected",
            "None stands where a value is expected",
        ),
        "A call before this line returned None: a function without a return, a search that found "
        "nothing, a file that was not read, or a method that changes its object in place.",
        _look("See which of the values is None, and what returned it", "print(value)"),
        own=True,
    ),
    _rule(
        r"IndexError: (?:list|tuple|string) index out of range",
        "The program asks for an element beyond the end of a list",
        "The list is shorter than expected, or empty: nothing was found, or a line of the data has "
        "fewer parts.",
        _look("See how long the list is before the line", "print(len(values), values[:5])"),
        own=True,
    ),
)
