"""Explain labels that the trainer of a detector cannot use, and types of web programs."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import code
from doctor.analyzers.texts import Text, explained
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Severity

_SOUND = " The installation is sound."


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what is wrong with labels, pictures or the releases of a web program."""
    yield from explained(case, _TABLE)


_TABLE: dict[str, Text] = {
    "labels-not-found": Text(
        "YOLO finds no labels for the pictures: it looked in {path}",
        "The label of images/x.jpg has to be labels/x.txt: the folder's name images is replaced by "
        "labels, and the rest of the path stays. The paths of the data.yaml count from the folder "
        "in which the program was started, or from its key path. An old *.cache keeps an earlier "
        "result." + _SOUND,
        (
            code(
                "Lay the files out so, and name the folders by full paths",
                "data.yaml",
                "path: /full/path/of/dataset\ntrain: images/train\nval: images/val",
                note="Beside images/train lies labels/train, with one .txt for each picture and "
                "lines of five numbers: class x y width height. Remove the *.cache files after "
                "that.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "pictures-not-found": Text(
        "YOLO finds no pictures of the data set {name}: {path} is missing",
        "A relative path in data.yaml counts from its key path, or from datasets_dir of "
        "Ultralytics' settings, and not from the folder of the file." + _SOUND,
        (
            code(
                "Name the folder by its full path",
                "data.yaml",
                "path: /full/path/of/dataset\ntrain: images/train\nval: images/val",
                note="yolo settings shows datasets_dir.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "label-beyond-classes": Text(
        "Labels name class {label}, and data.yaml counts {classes} classes",
        "Classes count from 0, so the largest is the number of classes minus 1. Pictures with "
        "other "
        "labels are left out, and nothing may be left to train on." + _SOUND,
        (
            code(
                "Count all classes in data.yaml, or number the labels anew",
                "data.yaml",
                "names: [first, second, third, fourth]  # {log.label} is the last that is used",
                note="Remove the *.cache files beside the labels afterwards.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "text-is-no-number": Text(
        "A number is wanted, and the data hold the text {value}",
        "A file of labels or a table holds a name, a path or a heading where numbers are wanted. A "
        "detector's label files want the number of the class, not its name." + _SOUND,
        (
            code(
                "Write numbers alone: the class first, in a label file of YOLO",
                "the label file",
                "0 0.51 0.42 0.20 0.31",
                before="{log.value} 0.51 0.42 0.20 0.31",
                use_if=("the file holds labels of a detector",),
            ),
            code(
                "See which cells of a table are no numbers",
                "before the line of the error",
                'frame = frame.apply(pandas.to_numeric, errors="coerce")',
                use_if=("a table is read",),
            ),
        ),
    ),
    "picture-is-none": Text(
        "There is nothing where a picture or array is wanted: None has no {name}",
        "cv2.imread() and a camera's read() give None, without an error, for a file that is not "
        "there or cannot be read; functions give None where they return nothing." + _SOUND,
        (
            code(
                "Check what was read",
                "behind imread() or read()",
                "import os\nassert image is not None, os.path.abspath(path)",
                before="image = cv2.imread(path)",
                note="The line of your own code in the traceback shows the variable.",
            ),
        ),
    ),
    "isaac-module-moved": Text(
        "This Isaac Sim has no module {module}",
        "Isaac Sim 4.5 renamed omni.isaac.* to isaacsim.*, and 5.0 dropped what was left. "
        "omni.isaac.gym, which OmniIsaacGymEnvs wants, went before. Outside of Isaac Sim's own "
        "Python there is none of them.",
        (
            code(
                "Use the Isaac Sim that the program was made for, such as 4.2 or 4.0",
                "the command that starts the program",
                "<folder of Isaac Sim 4.2>/python.sh program.py",
                before="~/isaacsim/python.sh program.py",
                note="Isaac Lab takes the place of OmniIsaacGymEnvs and IsaacGymEnvs for newer "
                "ones.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "schema-of-request": Text(
        "This gradio is too old for the installed FastAPI (schema of Request)",
        "FastAPI 0.112.3 and later resolve the types of a function in another way, and gradio "
        "before 4.44 hands them in so that Request is taken for a field.",
        (
            Recipe(
                title="Take a newer gradio of the same generation",
                steps=(Action(install=("gradio>=4.44,<5",)),),
            ),
            Recipe(
                title="Go back to the FastAPI from before",
                steps=(Action(install=("fastapi<0.112.3",)),),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "gradio-body-refused": Text(
        "gradio refuses what its own page sends (PredictBody)",
        "The program was written for gradio 3, and gradio 4 checks what is sent in another way, or "
        "gradio and pydantic do not go together.",
        (
            Recipe(
                title="Go back to gradio 3, for which the program was written",
                steps=(Action(install=("gradio==3.50.2",)),),
                use_if=("gradio 4 is installed",),
            ),
            Recipe(
                title="Take the newest gradio",
                steps=(Action(install=("gradio",), options=(Option.UPGRADE,)),),
            ),
        ),
        severity=Severity.ERROR,
    ),
}
