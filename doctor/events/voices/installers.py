"""Installers and tools that fetch: their general forms, and who reports about whom."""

from __future__ import annotations

from doctor.events.forms import Form, Voice
from doctor.model.events import Level

VOICES = (
    Voice(
        "pip",
        (
            Form(
                "subprocess-failed",
                r"subprocess-exited-with-error|metadata-generation-failed"
                r"|failed-wheel-build-for-install"
                r"|python setup\.py (?:egg_info|bdist_wheel|develop"
                r"|install)\b.{0,80}did not run successfully"
                r"|Preparing metadata \(.{1,40}\) did not run"
                r"|Getting requirements to build wheel did not run"
                r"|Building wheel for .{1,80} did not run successfully|Failed building (?:wheel"
                r"|editable) for"
                r"|Failed to build (?:installable wheels|[\w.-]{1,80}$)|Could not build wheels for"
                r"|Command errored out with exit status|Encountered error while (?:generating"
                r"|trying)"
                r"|installing build dependencies .{0,80}did not run",
                (
                    "subprocess-exited",
                    "metadata-generation-failed",
                    "failed-wheel-build",
                    "did not run",
                    "failed building ",
                    "failed to build ",
                    "could not build wheels",
                    "command errored out",
                    "encountered error while",
                ),
                Level.WRAPPER,
            ),
            Form(
                "exit-code",
                r"^\s{0,8}(?:exit code: [1-9]\d{0,3}|note: This (?:error|is an issue))",
                ("exit code: ", "note: this "),
                Level.WRAPPER,
            ),
            Form(
                "install-error",
                r"^\s{0,8}(?:ERROR|Error): (?P<message>(?:Could not|No matching|Cannot|Package"
                r"|Invalid|Ignored|Exception|"
                r"Can not|Operation|Hash|Directory|File|ResolutionImpossible|pip's|Will not|THESE"
                r"|HTTP|To use|In |Editable"
                r"|Unknown|Requested|Pip|Microsoft|.{1,200} is not a supported wheel).{0,400})",
                ("error: ",),
                general=True,
            ),
        ),
    ),
    Voice(
        "uv",
        (
            Form(
                "resolution-failed",
                r"No solution found when resolving",
                ("no solution found",),
                general=True,
            ),
            Form(
                "build-failed",
                r"(?:Failed to (?:build|download and build|prepare distributions)"
                r"|The build backend returned an error"
                r"|Call to `[\w.:]{1,80}` failed|Build backend failed)",
                (
                    "failed to build",
                    "failed to download and build",
                    "build backend",
                    "failed to prepare",
                    "call to `",
                ),
                Level.WRAPPER,
            ),
            Form(
                "install-error",
                r"^\s{0,4}(?:error: (?:Failed to|Request failed|Distribution|No (?:virtual"
                r"|interpreter|such)|Project|Querying|The)"
                r"|Failed to fetch: |Failed to install: |Failed to download "
                r"|Failed to unzip )(?P<message>.{0,300})",
                (
                    "error: ",
                    "failed to fetch",
                    "failed to install",
                    "failed to download",
                    "failed to unzip",
                ),
                general=True,
            ),
        ),
    ),
    Voice(
        "conda",
        (
            Form(
                "conda-error",
                r"\b(?P<type>(?:PackagesNotFound|LibMambaUnsatisfiable|Unsatisfiable"
                r"|ResolvePackageNotFound|CondaHTTP|CondaSSL"
                r"|CondaValue|CondaVerification|ChecksumMismatch|EnvironmentNotWritable"
                r"|InvalidArchive|CondaMultiError|NoBaseEnvironment"
                r"|ClobberError|EnvironmentLocationNotFound|Command ?NotFound"
                r"|Conda\w{0,30})(?:Error|Exception)?): ?(?P<message>.{0,400})",
                (
                    "packagesnotfound",
                    "unsatisfiable",
                    "resolvepackagenotfound",
                    "condahttp",
                    "condassl",
                    "condavalue",
                    "condaverification",
                    "checksummismatch",
                    "environmentnotwritable",
                    "invalidarchive",
                    "condamulti",
                    "clobbererror",
                    "environmentlocation",
                    "commandnotfound",
                    "condaerror",
                ),
                general=True,
            ),
            Form(
                "conda-error",
                r"\bnothing provides (?P<message>.{1,300})",
                ("nothing provides",),
                general=True,
            ),
            Form(
                "pip-in-conda-failed",
                r"CondaEnvException: Pip failed|Pip subprocess error",
                ("condaenvexception", "pip subprocess error"),
                Level.WRAPPER,
            ),
        ),
    ),
    Voice(
        "mamba",
        (
            Form(
                "mamba-error",
                r"^\s{0,4}(?:error|critical) {1,8}libmamba (?P<message>.{1,300})",
                ("libmamba ",),
                general=True,
            ),
        ),
    ),
    Voice(
        "poetry",
        (
            Form(
                "resolution-failed",
                r"SolverProblemError|Because (?P<message>.{1,300}) version solving failed",
                ("solverproblemerror", "version solving failed"),
                general=True,
            ),
            Form(
                "build-failed",
                r"ChefBuildError|PEP 517 build of a dependency failed|build of a dependency failed",
                ("chefbuilderror", "of a dependency failed"),
                Level.WRAPPER,
            ),
        ),
    ),
    Voice(
        "git",
        (
            Form(
                "git-error",
                r"^\s{0,8}fatal: (?P<message>.{1,300})|error: (?:RPC failed"
                r"|pathspec) (?P<more>.{1,200})",
                ("fatal: ", "rpc failed", "error: pathspec"),
                general=True,
            ),
            Form(
                "git-failed",
                r"git (?:clone|submodule|checkout|fetch|rev-parse"
                r"|version) .{0,300}(?:did not run successfully|exit code)",
                (
                    "git clone",
                    "git submodule",
                    "git checkout",
                    "git fetch",
                    "git rev-parse",
                    "git version",
                ),
                Level.WRAPPER,
            ),
        ),
    ),
    Voice(
        "curl",
        (
            Form(
                "download-failed",
                r"\bcurl: \((?P<code>\d{1,3})\) (?P<message>.{1,300})",
                ("curl: (",),
                general=True,
            ),
        ),
    ),
    Voice(
        "wget",
        (
            Form(
                "download-failed",
                r"\bERROR (?P<code>[45]\d\d): (?P<message>.{1,200})"
                r"|wget: (?P<text>unable to .{1,200})",
                ("error 4", "error 5", "wget: unable"),
                general=True,
            ),
        ),
    ),
    Voice(
        "apt",
        (
            Form(
                "apt-error",
                r"^\s{0,4}E: (?P<message>\S.{1,300})|dpkg: error (?P<text>.{1,300})",
                (
                    "e: unable",
                    "e: package",
                    "e: the ",
                    "e: could",
                    "e: sub-",
                    "e: failed",
                    "e: version",
                    "e: unmet",
                    "e: broken",
                    "e: type",
                    "e: some",
                    "e: conflict",
                    "e: no ",
                    "e: invalid",
                    "dpkg: error",
                ),
                general=True,
            ),
            Form(
                "apt-error",
                r"The following packages have unmet dependencies",
                ("unmet dependencies",),
                general=True,
            ),
        ),
    ),
    Voice(
        "npm",
        (
            Form(
                "npm-error",
                r"^\s{0,4}npm (?:ERR!|error) (?P<message>\S.{1,300})",
                ("npm err", "npm error"),
                general=True,
            ),
        ),
    ),
)
