"""Python about names: modules, attributes and parameters that are not there.

The wordings are those of CPython (Python/ceval.c, Python/import.c, Objects/moduleobject.c,
Objects/object.c, Lib/importlib/_bootstrap.py) from 2.7 on.
"""

from __future__ import annotations

from doctor.events.forms import Form, Voice

VOICES = (
    Voice(
        "Python",
        (
            Form(
                "import-cycle",
                r"cannot import name '?(?P<name>[\w.]{1,200})'? from partially initialized module "
                r"'(?P<module>[\w.]{1,200})'(?: \(most likely due to a circular import\))?"
                r"(?: \((?P<path>[^()]{1,400}(?:\(x86\)[^()]{1,300})?)\))?",
                ("from partially initialized module",),
            ),
            Form(
                "import-cycle",
                r"partially initialized module '(?P<module>[\w.]{1,200})' has no attribute "
                r"'(?P<name>\w{1,200})'",
                ("partially initialized module",),
            ),
            # Python 3.13 looks for files that hide a module itself (traceback.py, error.c).
            Form(
                "module-shadowed",
                r"consider renaming '(?P<path>[^']{1,400})' since it has the same name as "
                r"the (?P<hides>standard library|third-party) module",
                ("consider renaming '",),
            ),
            Form(
                "name-not-importable",
                r"cannot import name '(?P<name>[\w.]{1,200})' from '(?P<module>[\w.]{1,200})'"
                r"(?: \((?P<path>[^()]{1,400}(?:\(x86\)[^()]{1,300})?|unknown location)\))?",
                ("cannot import name '",),
            ),
            # Python 3.6 names the name alone (Python/ceval.c); the statement stands above.
            Form(
                "name-not-importable",
                r"cannot import name '(?P<name>\w{1,200})'\s*$",
                ("cannot import name '",),
            ),
            # Python 2 puts no quotes around it (Python/ceval.c of 2.7).
            Form(
                "name-not-importable",
                r"ImportError: cannot import name (?P<name>[A-Za-z_]\w{0,199})\s*$",
                ("cannot import name ",),
            ),
            Form(
                "module-attribute-missing",
                r"(?:^|[^\w ] |[^d] )[Mm]odule '(?P<module>[\w.]{1,200})' has no attribute "
                r"'(?P<name>\w{1,200})'",
                ("' has no attribute '",),
            ),
            Form(
                "object-attribute-missing",
                r"(?:AttributeError: )(?:type object )?'(?P<class>[\w.]{1,200})' (?:object )?"
                r"has no attribute '(?P<name>\w{1,200})'",
                ("has no attribute '",),
            ),
            # A module with a `__getattr__` of its own raises the name alone (PEP 562).
            Form(
                "bare-attribute-missing",
                r"\bAttributeError: (?P<name>[A-Z][A-Za-z]{2,40}[a-z][A-Za-z]{1,40})\)?\s*$",
                ("attributeerror: ",),
            ),
            Form(
                "keyword-not-accepted",
                r"(?P<function>[\w.<>]{1,200})\(\) got an unexpected keyword argument "
                r"'(?P<name>\w{1,200})'",
                ("() got an unexpected keyword argument",),
            ),
            Form(
                "argument-missing",
                r"(?P<function>[\w.<>]{1,200})\(\) missing \d{1,3} required "
                r"(?:positional|keyword-only) arguments?: '(?P<name>\w{1,200})'",
                ("() missing ",),
            ),
            Form(
                "module-not-found",
                r"(?:(?:ModuleNotFound|Import)Error:|[/\\ ](?:python|pypy)[\w.-]{0,12}(?:\.exe)?:"
                r"(?: Error while finding module specification for '[\w.]{1,200}' \(\w{1,40}:)?"
                # ComfyUI and its add-ons quote the exception without its name.
                r"|\b(?:Cannot import|Error loading|[Ff]ailed to (?:import|load)) [^\n]{1,400}:) "
                r"No module named '?(?P<module>[\w.]{1,200})'?"
                r"(?:; '(?P<parent>[\w.]{1,200})' is not a package)?",
                ("no module named ",),
            ),
        ),
    ),
)
