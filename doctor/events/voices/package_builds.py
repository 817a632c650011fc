"""What builds of Python packages print, and what packages say of each other's releases."""

from __future__ import annotations

from doctor.events.forms import Form, Voice
from doctor.model.events import Level

VOICES = (
    Voice(
        "Meson",
        (
            Form(
                "meson-error",
                r"meson\.build:\d{1,5}:\d{1,4}: ERROR: (?P<message>\S.{0,300})",
                ("meson.build:",),
            ),
        ),
    ),
    Voice(
        "setuptools",
        (
            Form(
                "backend-missing",
                r"(?:BackendUnavailable: )?Cannot import '(?P<module>[\w.]{1,100})'",
                ("cannot import '",),
            ),
            Form("backend-missing", r"BackendUnavailable", ("backendunavailable",), Level.WRAPPER),
            Form(
                "setup-option-gone",
                r"error in (?P<package>[\w.-]{1,100}) setup command: (?P<option>use_2to3) is inv"
                r"alid",
                ("use_2to3 is invalid",),
            ),
            Form(
                "setup-option-gone",
                r"invalid command '(?P<option>test|upload_docs|easy_install|develop)'",
                ("invalid command '",),
            ),
            Form(
                "sources-too-old",
                r"(?:fatal error: |No such file or directory: ')(?P<header>longintrepr\.h)|(?:er"
                r"ror: |no member named )['‘]?(?P<member>ob_digit|tp_print|use_tracing|curexc_tr"
                r"aceback|co_code|f_code)\b",
                (
                    "longintrepr.h",
                    "ob_digit",
                    "tp_print",
                    "use_tracing",
                    "curexc_traceback",
                    "co_code",
                    "f_code",
                ),
            ),
            Form(
                "sources-too-old",
                r"(?P<member>_PyUnicode_get_wstr_length|PyUnicode_AS_UNICODE|_PyLong_AsByteArray"
                r"|PyEval_CallObject|_PyGen_Send|Py_UNICODE)['’]? (?:was not declared|undeclared"
                r"|is deprecated|does not take|too few arguments)",
                (
                    "_pyunicode_get_wstr_length",
                    "pyunicode_as_unicode",
                    "_pylong_asbytearray",
                    "pyeval_callobject",
                    "_pygen_send",
                    "py_unicode",
                ),
            ),
            Form(
                "sources-too-old",
                r"Cython\.Compiler\.Errors\.CompileError: (?P<file>\S{1,200})",
                ("cython.compiler.errors.compileerror",),
            ),
            Form(
                "build-failed",
                r"(?:Failed building (?:wheel|editable) for|Failed to build `?)\s?(?P<package>["
                r"\w.-]{1,100})",
                ("failed building wheel for", "failed building editable for", "failed to build"),
                Level.WRAPPER,
            ),
            Form(
                "build-failed",
                r"metadata-generation-failed",
                ("metadata-generation-failed",),
                Level.WRAPPER,
            ),
            Form(
                "ssl-module-missing",
                r"the ssl module in Python is not available|(?:Can't connect to HTTPS URL becaus"
                r"e the SSL module is not available)",
                ("ssl module in python is not available", "the ssl module is not available"),
            ),
            Form(
                "openssl-too-old",
                r"urllib3 v2(?:\.\d)? only supports OpenSSL 1\.1\.1\+, currently the '?ssl'? mod"
                r"ule is compiled with '?(?P<openssl>[^'.][^']{1,60})'?",
                ("only supports openssl 1.1.1+",),
            ),
            Form(
                "venv-part-missing",
                r"virtual environment was not created successfully because ensurepip is not",
                ("because ensurepip is not",),
            ),
            Form(
                "python-too-old",
                r"TypeError: '(?P<what>type|ABCMeta|_GenericAlias)' object is not subscriptable",
                ("object is not subscriptable",),
            ),
        ),
    ),
    Voice(
        "Python",
        (
            Form(
                "release-required",
                r"(?P<requirement>[A-Za-z][\w.-]{0,80}(?:[<>=!~]=?[\w.*]{1,30},?){1,4}) is requi"
                r"red for a normal functioning of this module,? but found (?P<other>[\w.-]{1,80}"
                r")==(?P<installed>[\w.+]{1,40})",
                ("for a normal functioning of this module",),
            ),
            Form(
                "generated-code-newer",
                r"gencode (?P<built>\d[\w.]{1,20}) runtime (?P<installed>\d[\w.]{1,20})",
                ("incompatible protobuf gencode/runtime",),
            ),
            Form(
                "array-api-differs",
                r"module compiled against (?:ABI version 0x[0-9a-f]{1,12} but this version of nu"
                r"mpy is 0x[0-9a-f]{1,12}|API version (?P<built>0x[0-9a-f]{1,4}) but this versio"
                r"n of numpy is (?P<installed>0x[0-9a-f]{1,4}))",
                ("module compiled against a",),
            ),
            Form(
                "array-size-changed",
                r"(?P<type>[\w.]{1,60}) size changed,? may indicate binary incompatibility\. Exp"
                r"ected (?P<built>\d{1,5}) from C header, got (?P<installed>\d{1,5}) from PyObject",
                ("size changed, may indicate binary",),
            ),
            Form(
                "parts-of-two-releases",
                r"(?P<root>[A-Za-z]\w{1,40})(?P<type>(?:\.\w{1,60}){1,5}) size changed,? "
                r"may indicate binary incompatibility",
                ("size changed, may indicate binary",),
            ),
            Form(
                "parts-of-two-releases",
                r"(?P<root>[A-Za-z]\w{1,40})(?P<type>(?:\.\w{1,60}){1,5}) has the wrong size, try "
                r"recompiling",
                ("has the wrong size, try recompiling",),
            ),
            Form(
                "release-too-old",
                r"(?P<who>[A-Za-z][\w.-]{1,60}) (?:requires|needs)(?: at least)? (?P<what>[A-Za-"
                r"z][\w.-]{1,60})\s?(?P<operator>>=|version >=|version|>|==|~=)?\s?(?P<wanted>\d"
                r"[\w.]{0,20})(?: or (?:later|newer|higher|above))?,? (?:but|and) (?:found|got|y"
                r"ou have|you are using|the installed version is|version|installed:?|have|it is|"
                r"current(?:ly)?)\s?(?:version |[A-Za-z][\w.-]{1,60}[ =]{1,2})?(?:is )?v?(?P<ins"
                r"talled>\d[\w.+]{0,30})",
                (
                    "but found",
                    "but got",
                    "but you have",
                    "you are using",
                    "installed version is",
                    "but version",
                    "but installed",
                    "but have",
                ),
            ),
            Form(
                "distribution-metadata-missing",
                r"PackageNotFoundError: (?:No package metadata was found for )?(?P<package>[A-Za"
                r"-z][\w.-]{0,80})\s*$",
                ("packagenotfounderror: ",),
            ),
        ),
    ),
)
