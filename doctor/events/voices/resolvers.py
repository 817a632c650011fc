"""Resolvers about requirements that exclude each other: pip, uv, conda, mamba, Poetry, cargo.

The wordings are those of pip 20.3 to 26, uv 0.2 to 0.9 (PubGrub), conda 4 to 25, libmamba 1 and 2,
Poetry 1 and 2, and cargo 1.60 to 1.90.
"""

from __future__ import annotations

from doctor.events.forms import Form, Voice
from doctor.model.events import Level

VOICES = (
    Voice(
        "pip",
        (
            Form(
                "resolver-conflict",
                r"Cannot install (?P<requirements>.{1,600}) because these package versions have "
                r"conflicting dependencies",
                ("because these package versions have",),
            ),
            # A terminal, or a logger, broke the line in the list.
            Form(
                "resolver-conflict",
                r"Cannot install (?P<requirements>[A-Za-z][\w.,=+!\[\] -]{3,600}(?:,| and))"
                r"\s{0,4}$",
                ("cannot install ",),
            ),
            # A paste may begin below the line that names what could not be installed.
            Form(
                "resolver-conflict",
                r"^\s{0,8}The conflict is caused by:?\s{0,4}$",
                ("the conflict is caused by",),
            ),
            Form(
                "resolver-failed", r"ResolutionImpossible", ("resolutionimpossible",), Level.WRAPPER
            ),
            Form(
                "requirement-unmet",
                r"(?P<package>[A-Za-z][\w.-]{0,80}) (?P<version>\d[\w.+!-]{0,40}) (?:requires|ha"
                r"s requirement) "
                r"(?P<requirement>[^ ,][^;]{0,160}?)(?:; [^,]{1,120})?, but you(?:'ll)? have "
                r"(?P<other>[A-Za-z][\w.-]{0,80}) (?P<installed>\d[\w.+!-]{0,40}?)(?: which is i"
                r"ncompatible)?\.?$",
                (", but you have ", ", but you'll have "),
                Level.WARNING,
            ),
            Form(
                "requirement-unmet",
                r"VersionConflict: \((?P<other>[A-Za-z][\w.-]{0,80}) (?P<installed>\d[\w.+-]{0,4"
                r"0}) \((?P<path>[^)]{0,300})\), "
                r"Requirement\.parse\('(?P<requirement>[^']{1,160})'\)(?:, \{'(?P<package>[\w.-]"
                r"{1,80})')?",
                ("versionconflict: (",),
            ),
            Form(
                "requirement-absent",
                r"DistributionNotFound: The '(?P<requirement>[^']{1,160})' distribution was not "
                r"found and is required by (?P<package>[\w.-]{1,80}|the application)",
                ("distribution was not found and is required by",),
            ),
        ),
    ),
    Voice(
        "uv",
        (
            Form(
                "resolver-conflict",
                r"(?:× |error: )?(?P<what>No solution found when resolving )",
                ("no solution found when resolving",),
            ),
            Form(
                "requirement-unmet",
                r"The package `(?P<package>[\w.-]{1,80})` requires `(?P<requirement>[^`]{1,160})"
                r"`, but `(?P<installed>[^`]{1,60})` is installed",
                ("` is installed",),
                Level.WARNING,
            ),
        ),
    ),
    Voice(
        "Poetry",
        (
            Form(
                "resolver-conflict",
                r"(?P<what>version solving failed)",
                ("version solving failed",),
            ),
        ),
    ),
    Voice(
        "conda",
        (
            Form(
                "nothing-provides",
                r"nothing provides (?:requested )?(?P<requirement>[\w.-]{1,80}(?: ?[<>=!~*|,\w."
                r"\[\]'+-]{1,120}){0,3}?)(?: needed by (?P<package>[\w.-]{1,160}))?$",
                ("nothing provides ",),
            ),
            # resolvo, the solver of pixi and rattler
            Form(
                "nothing-provides",
                r"(?:─ (?P<package>[\w.-]{1,80}) \S{1,60} would require )?"
                r"(?P<requirement>[\w.-]{1,80}(?: [<>=!~*|,\w.]{1,60}){0,2}), for which no "
                r"candidates were found",
                ("for which no candidates were found",),
            ),
            Form(
                "nothing-provides",
                r"Virtual package '(?P<requirement>__[\w .=<>*]{1,80})' does not match any of the "
                r"available virtual packages",
                ("does not match any of the available",),
            ),
            Form(
                "system-too-old",
                r"(?P<requirement>__(?:glibc|cuda|osx|linux|win|archspec|unix)[^,│└├]{0,80}?)\s{"
                r"0,4},? which is missing on the system",
                ("which is missing on the system", "is missing on the system"),
            ),
            Form(
                "resolver-conflict",
                r"package (?P<package>[\w.-]{1,160}) requires (?P<requirement>[^,]{1,120}(?:,[^,"
                r"]{1,60})?), but none of the providers can be installed",
                ("but none of the providers can be installed",),
            ),
            Form(
                "resolver-failed",
                r"(?:LibMamba)?UnsatisfiableError|Could not solve for environment specs",
                ("unsatisfiableerror", "could not solve for environment specs"),
                Level.WRAPPER,
            ),
            Form(
                "package-not-in-channels",
                r"PackagesNotFoundError|ResolvePackageNotFound",
                ("packagesnotfounderror", "resolvepackagenotfound"),
            ),
        ),
    ),
    Voice(
        "cargo",
        (
            Form(
                "crate-conflict",
                r"error: failed to select a version for (?:the requirement )?`(?P<requirement>[^"
                r"`]{1,160})`",
                ("failed to select a version for",),
            ),
            Form(
                "crate-not-found",
                r"error: no matching package (?:named )?`?(?P<requirement>[\w-]{1,100})`? found",
                ("no matching package",),
            ),
        ),
    ),
)
