"""OpenCV on pictures, Python on texts and windows, git and servers on what is fetched.

The wordings stand in OpenCV's modules, in CPython's codecs and _tkinter.c, and in git's remote.c.
"""

from __future__ import annotations

from doctor.events.forms import Form, Voice

VOICES = (
    Voice(
        "OpenCV",
        (
            Form(
                "picture-empty",
                r"(?:OpenCV|cv2|cv::).{0,200}\(-215:?(?:Assertion failed)?\) ?"
                r"(?:!\w{1,30}\.empty\(\)|\w{0,20}[sS]ize\.width ?> ?0).{0,60}? in function "
                r"'?(?P<function>[\w:]{2,60})",
                ("(-215",),
            ),
            Form(
                "picture-channels",
                r"(?:OpenCV|cv2|cv::).{0,200}\(-215:?(?:Assertion failed)?\) ?"
                r"(?P<said>[^'\n]{0,40}(?:channels\(\)|scn|depth|CV_MAT_CN)[^'\n]{0,80}?) in "
                r"function "
                r"'?(?P<function>[\w:]{2,60})",
                ("(-215",),
            ),
            Form(
                "picture-check",
                r"OpenCV Error: (?P<kind>[\w ]{3,40}) \((?P<said>.{1,160})\) in "
                r"(?P<function>[\w:]{2,60}), file",
                ("opencv error: ",),
            ),
            Form(
                "picture-check",
                r"(?:OpenCV|cv2|cv::).{0,200}\(-\d{1,3}:?(?:Assertion failed|Bad argument|"
                r"Unspecified error|[A-Z][\w ]{2,30})?\) ?(?P<said>[^'\n]{0,160}?) ?in function "
                r"'?(?P<function>[\w:]{2,60})",
                ("in function '", "in function "),
            ),
            Form(
                "picture-window",
                r"The function is not implemented\. Rebuild the library with Windows, GTK",
                ("rebuild the library with windows",),
            ),
        ),
    ),
    Voice(
        "Python",
        (
            Form(
                "text-encoding",
                r"Unicode(?:De|En)codeError: '(?P<codec>[\w-]{2,20})' codec can't "
                r"(?P<what>decode|encode)",
                ("codec can't ",),
            ),
            Form(
                "display-missing",
                r"TclError: (?:no display name and no \$DISPLAY|couldn't connect to display)"
                r"|cannot connect to X server|Unable to init server: Could not connect",
                ("no display name", "connect to display", "connect to x server", "to init server"),
            ),
            Form(
                "server-refuses",
                r"(?:urllib\.error\.)?HTTPError: HTTP Error (?P<status>4\d\d|5\d\d): "
                r"(?P<said>[\w -]{3,40})",
                ("http error ",),
            ),
            Form(
                "not-json-serializable",
                r"Object of type (?P<type>[\w.]{2,40}) is not JSON serializable",
                ("is not json serializable",),
            ),
            Form(
                "yaml-loader",
                r"load\(\) missing 1 required positional argument: 'Loader'",
                ("argument: 'loader'",),
            ),
        ),
    ),
    Voice(
        "git",
        (
            Form(
                "clone-exists",
                r"fatal: destination path '(?P<path>[^']{1,200})' already exists and is not an "
                r"empty",
                ("already exists and is not an empty",),
            ),
            Form(
                "fetch-broke-off",
                r"RPC failed; (?P<said>.{3,160})|fatal: early EOF|fetch-pack: unexpected "
                r"disconnect",
                ("rpc failed", "fatal: early eof", "fetch-pack: unexpected"),
            ),
        ),
    ),
)
