"""Node.js, Electron and bundlers about compiled modules (files that end in .node)."""

from __future__ import annotations

from doctor.events.forms import Form, Voice

_PATH = r"(?P<path>[^'\"\s]{1,300}\.node)"

VOICES = (
    Voice(
        "Node.js",
        (
            Form("addon-not-bundled", rf"Cannot find module ['\"]{_PATH}", (".node'", '.node"')),
            Form(
                "addon-not-bundled",
                rf"No loader is configured for \"\.node\" files: {_PATH}",
                ("no loader is configured for",),
            ),
            Form(
                "addon-not-bundled",
                rf"Could not dynamically require ['\"]{_PATH}",
                ("could not dynamically require",),
            ),
            Form(
                "addon-not-bundled",
                r"You may need an appropriate loader to handle this file type.{0,200}"
                r"(?P<path>\.node)\b",
                ("you may need an appropriate loader",),
            ),
            Form(
                "addon-not-built",
                r"Error: Could not locate the bindings file\. Tried",
                ("could not locate the bindings file",),
            ),
            Form(
                "addon-of-other-release",
                r"compiled against a different Node\.js version using",
                ("compiled against a different node.js",),
            ),
            Form(
                "addon-of-other-release",
                r"NODE_MODULE_VERSION (?P<built>\d{2,3})\. This version of Node\.js requires",
                ("this version of node.js requires",),
            ),
            Form(
                "addon-needs-dll",
                r"The specified module could not be found\.?\s{0,4}"
                r"\\\\\?\\(?P<path>\S.{0,300}?\.node)\b",
                ("the specified module could not be found",),
                joined=True,
            ),
            Form(
                "addon-needs-library",
                r"Error: (?P<library>lib[\w.+-]{1,80}\.so[.\d]{0,12}): cannot open shared object "
                r"file.{0,200}(?:\n\s{0,8}at (?:process\.func|Object\.?|Module\.)|code: "
                r"'ERR_DLOPEN_FAILED')",
                ("cannot open shared object file",),
                joined=True,
            ),
        ),
    ),
)
