"""Open MPI about its daemons, and about where it puts processes."""

from __future__ import annotations

from doctor.events.forms import Form, Voice

VOICES = (
    Voice(
        "Open MPI",
        (
            Form(
                "mpi-daemon-missing",
                r"(?:bash|sh|zsh|ksh|csh|tcsh)?:? ?(?:line \d{1,5}: )?(?P<daemon>orted|prted)"
                r": (?:command )?not found",
                ("orted:", "prted:"),
            ),
            Form(
                "mpi-unreachable",
                r"At least one pair of MPI processes are unable to reach each other",
                ("unable to reach each other",),
            ),
            Form(
                "mpi-mapping-differs",
                r"A (?P<mapping>sequential|rank_?file) map was requested, but not enough node"
                r" entries",
                ("map was requested, but not enough",),
            ),
            Form(
                "mpi-mapping-differs",
                r"Conflicting directives for (?P<what>mapping|binding|ranking) policy",
                ("conflicting directives for",),
            ),
        ),
    ),
)
