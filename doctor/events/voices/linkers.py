"""Link editors of Linux, macOS and Windows (ld(1), link.exe)."""

from __future__ import annotations

from doctor.events.forms import Form, Voice

_NAME = r"(?P<symbol>[^`'\"]{1,900})"

VOICES = (
    Voice(
        "the linker",
        (
            Form(
                "undefined-reference",
                rf"(?:^|[\s(/])(?:(?P<file>[^\s:(]{{1,300}})[:(].{{0,300}})?"
                rf"undefined (?:reference to(?: symbol)?|symbol:) [`'\"]{_NAME}['\"]",
                ("undefined reference to",),
            ),
            Form(
                "undefined-reference",
                r"lld(?:-link)?: error: undefined symbol: (?P<symbol>\S.{0,900})",
                ("lld: error: undefined", "lld-link: error: undefined"),
            ),
            Form(
                "undefined-reference",
                r"^\s{0,4}\"(?P<symbol>_[^\"]{1,900})\", referenced from:",
                ('", referenced from:',),
            ),
            Form(
                "library-not-linked",
                r"cannot find -l(?P<library>[\w.+:-]{1,80})",
                ("cannot find -l",),
            ),
            Form(
                "library-not-linked",
                r"ld: (?:error: )?(?:library not found for -l(?P<library>[\w.+-]{1,80})"
                r"|library '(?P<name>[\w.+-]{1,80})' not found"
                r"|unable to find library -l(?P<other>[\w.+-]{1,80}))",
                ("library not found for", "ld: library '", "unable to find library -l"),
            ),
            Form(
                "library-not-linked",
                r"cannot find (?P<path>/[^\s:]{0,300}/lib(?P<library>[\w+-]{1,60})"
                r"\.(?:so|a)[\w.]{0,20})",
                ("cannot find /",),
            ),
            Form(
                "not-position-independent",
                r"(?:^|[\s:])(?P<file>[^\s:]{1,300}?\.(?:o|a|lo|rlib|so)(?:\([^)]{1,120}\))?)(?::[^\s:]"
                r"{0,200})?: (?:warning: )?relocation (?P<relocation>R_\w{3,40}) against .{1,900}? "
                r"can ?not be used when making an? (?P<made>PIE object|PDE object|shared object)",
                ("be used when making a",),
            ),
            Form(
                "folder-linked",
                r"cannot find (?P<folder>/[^\s:]{1,300}?)/?: "
                r"(?:file format not recognized|file not recognized|[Ii]s a directory)",
                ("cannot find /",),
            ),
            Form(
                "wrong-machine-linked",
                r"ld: warning: ignoring file '?(?P<file>[^\s',]{1,300})'?[,:] "
                r"(?:found architecture '(?P<have>\w{3,12})', required architecture "
                r"'(?P<need>\w{3,12})'|building for macOS-(?P<need2>\w{3,12}) but attempting to "
                r"link with file built for (?:macOS-)?(?P<have2>\w{3,12}))",
                ("ld: warning: ignoring file",),
            ),
            Form(
                "too-large-to-link",
                r"relocation (?:truncated to fit|R_X86_64_\w{1,20} out of range)",
                ("relocation truncated to fit", "out of range: "),
            ),
        ),
    ),
    Voice(
        "the linker of MSVC",
        (
            Form(
                "undefined-reference",
                r"[Ee]rror\s{1,4}(?P<code>LNK2001|LNK2019):?\s{1,4}unresolved external symbol "
                r"(?:\"(?P<readable>[^\"]{1,900})\" \((?P<symbol>[^)\s]{1,900})\)"
                r"|(?P<plain>\S{1,900}))",
                ("unresolved external symbol",),
            ),
            # In other languages the words are others, and the helpers of the C++ library the same.
            Form(
                "undefined-reference",
                r"error (?P<code>LNK2001|LNK2019)\s?: .{0,120}?\b(?P<plain>__std_[a-z]\w{2,60})\b",
                ("error lnk2001", "error lnk2019"),
            ),
            Form(
                "library-not-linked",
                r"error LNK1(?:104|181): cannot open (?:input )?file '?"
                r"(?P<file>[^'\r\n]{1,200}?\.(?:lib|obj|dll|pyd|exe))'?",
                ("error lnk1104", "error lnk1181"),
            ),
            Form(
                "wrong-machine-linked",
                r"error LNK1112: module machine type '(?P<have>\w{1,20})' conflicts with target "
                r"machine type '(?P<need>\w{1,20})'",
                ("error lnk1112",),
            ),
            Form(
                "compile-error",
                r"(?:fatal )?error (?P<code>LNK1102|LNK1248|LNK1169|LNK1318)\s?: "
                r"(?P<message>\S.{0,300})",
                ("error lnk1102", "error lnk1248", "error lnk1169", "error lnk1318"),
            ),
        ),
    ),
)
