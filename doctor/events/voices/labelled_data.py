"""What trainers of detectors report of labels, and web programs of the types they are given.

The wordings stand in Ultralytics (data/utils.py, data/base.py), in pydantic (_generate_schema.py)
and in the modules of Isaac Sim.
"""

from __future__ import annotations

from doctor.events.forms import Form, Voice
from doctor.model.events import Level

VOICES = (
    Voice(
        "Ultralytics",
        (
            Form(
                "labels-not-found",
                r"No labels found in (?P<path>[^\s,]{1,200}?)[.,]?(?: |$)",
                ("no labels found in ",),
            ),
            Form(
                "label-beyond-classes",
                r"Label class (?P<label>\d{1,6}) exceeds dataset class count (?P<classes>\d{1,6})",
                ("exceeds dataset class count",),
            ),
            Form(
                "pictures-not-found",
                r"[Dd]ataset '(?P<name>[^'\n]{1,200})' images not found.{0,8}, missing paths? "
                r"'?(?P<path>[^'\n]{1,200})",
                ("images not found",),
            ),
        ),
    ),
    Voice(
        "Python",
        (
            Form(
                "text-is-no-number",
                r"could not convert string to float: ['\"](?P<value>[^'\"\n]{1,160})",
                ("could not convert string to float",),
            ),
            Form(
                "picture-is-none",
                r"AttributeError: 'NoneType' object has no attribute '(?P<name>shape|copy|astype)'",
                ("'nonetype' object has no attribute",),
                level=Level.FAILURE,
            ),
            Form(
                "isaac-module-moved",
                r"No module named '(?P<module>omni\.isaac(?:\.\w{1,40}){0,4})'",
                ("no module named 'omni.isaac",),
            ),
        ),
    ),
    Voice(
        "pydantic",
        (
            Form(
                "schema-of-request",
                r"Unable to generate pydantic-core schema for <class "
                r"'starlette\.requests\.Request'>",
                ("unable to generate pydantic-core",),
            ),
            Form(
                "gradio-body-refused",
                r"validation errors? for PredictBody",
                ("for predictbody",),
            ),
        ),
    ),
)
