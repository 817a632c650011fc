"""Explain compiled modules that Node.js or Electron cannot load: onnxruntime-node and its like.

| event | what is said of it |
| --- | --- |
| addon-not-bundled | the bundler left the .node file out; keep the package out of the bundle |
| addon-not-bundled, /undefined/ in the path | a browser asks for a module of Node.js |
| addon-not-built | no binary for this Node.js, or the bundler moved the caller |
| addon-of-other-release | built for another Node.js or Electron; rebuild |
| addon-needs-dll | a DLL that the module needs is missing on Windows |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import LINUX, WINDOWS, code, command
from doctor.analyzers.texts import Text, explanation, objects_of
from doctor.model.events import Event
from doctor.model.issues import Recipe
from doctor.model.scales import Severity

_FOLDER = re.compile(r"node_modules[/\\]((?:@[\w.-]{1,80}[/\\])?[\w.-]{1,80})")
_ONNX = "onnxruntime_binding"
_BROWSER = "/undefined/"
"""In the place of the system and the processor, which a browser does not name."""
_NAMED = (
    ("esbuild", re.compile(r"No loader is configured for|\besbuild\b")),
    ("Vite or Rollup", re.compile(r"\bvite\b|rollup|dynamicRequireTargets", re.IGNORECASE)),
    ("webpack", re.compile(r"webpack", re.IGNORECASE)),
)
_EXTERNALS = {
    "esbuild": (
        "the options of esbuild",
        'external: ["{package}"]',
    ),
    "Vite or Rollup": (
        "vite.config of the main process, or the configuration of Rollup",
        'build: {{ rollupOptions: {{ external: ["{package}"] }} }}',
    ),
    "webpack": (
        "webpack.config of the main process",
        'externals: {{ "{package}": "commonjs2 {package}" }}',
    ),
}


def explain(case: Case) -> Iterator[Explanation]:
    """Yield why a compiled module does not load, for the first event of each kind."""
    done: set[str] = set()
    for event in case.of(*_TABLE, "addon-not-bundled", "addon-not-built"):
        if event.kind in done:
            continue
        done.add(event.kind)
        package = _package(case, event)
        known = {**objects_of(event), "package": package or "a package"}
        if (one := explanation(case, event, _text(case, event, package), known)) is not None:
            yield one


def _text(case: Case, event: Event, package: str) -> Text:
    if event.kind == "addon-not-built":
        return _not_built(case)
    if event.kind != "addon-not-bundled":
        return _TABLE[event.kind]
    if _BROWSER in event.objects.get("path", "") and package == "onnxruntime-node":
        return _IN_BROWSER
    return _left_out(case, package)


def _package(case: Case, event: Event) -> str:
    """Return the npm package of the module; empty where the log does not name it."""
    path = event.objects.get("path", "")
    if _ONNX in path:
        return "onnxruntime-node"
    for line in (path, *case.log.lines[event.at : event.at + 20]):
        if ".node" in line or "bindings" in line:
            for name in reversed(_FOLDER.findall(line[:400])):
                if name not in ("bindings", "electron"):
                    return str(name).replace("\\", "/")
    return ""


def _left_out(case: Case, package: str) -> Text:
    """Return the text for a module that the bundler did not take along."""
    body = "\n".join(line[:400] for line in case.log.lines[:400])
    bundler = next((name for name, sign in _NAMED if sign.search(body)), "")
    recipes: list[Recipe] = []
    name = package or "<package>"
    for other, (where, after) in _EXTERNALS.items():
        if bundler in ("", other):
            recipes.append(
                code(
                    "Keep the package out of the bundle",
                    where,
                    after.format(package=name),
                    use_if=() if bundler else (f"the bundler is {other}",),
                    note="The package has to stand under dependencies in package.json, so that it "
                    "is installed beside the program.",
                )
            )
    if package:
        recipes.insert(
            1,
            command("Have the package installed by the program itself", "npm", "install", package),
        )
    return Text(
        "The bundler did not take along the compiled module of {package}",
        "A bundler reads JavaScript and leaves out, or cannot read, a file that ends in .node. The "
        "package loads it by a path that is right only where the package itself lies, in "
        "node_modules. It has to stay outside of the bundle, and in Electron outside of the asar "
        "archive (asarUnpack).",
        tuple(recipes[:3]),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    )


_REBUILD = command(
    "Build it for the Electron of the program",
    *("npx", "@electron/rebuild"),
    use_if=("the program is an Electron program",),
)
_AGAIN = command("Build it for this Node.js", "npm", "rebuild")

_IN_BROWSER = Text(
    "{package} is for Node.js, and a browser runs this code",
    "The path of a compiled module has the system and the processor in it, and a browser knows "
    "neither. A browser cannot load such a module.",
    (
        command(
            "Take the package for browsers in its place",
            *("npm", "install", "onnxruntime-web"),
            note="Import onnxruntime-web in the place of onnxruntime-node; the calls are the same.",
        ),
    ),
    severity=Severity.ERROR,
    precision=Precision.EXACT,
)


def _not_built(case: Case) -> Text:
    """Return the text for a module that lies in no folder that the package bindings searches."""
    bundled = any("webpack" in line for line in case.log.lines[:400])
    outside = code(
        "Keep the package and the package bindings out of the bundle",
        "webpack.config of the main process",
        'externals: { bindings: "commonjs2 bindings", "<package>": "commonjs2 <package>" }',
        use_if=() if bundled else ("a bundler such as webpack made the program",),
    )
    return Text(
        "The compiled module of {package} lies in none of the folders that are searched",
        "The package searches beside the JavaScript file that asks. Either the module was never "
        "built for this Node.js or Electron, or a bundler moved the JavaScript elsewhere.",
        (outside, _REBUILD, _AGAIN) if bundled else (_AGAIN, outside, _REBUILD),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    )


_TABLE: dict[str, Text] = {
    "addon-of-other-release": Text(
        "{package} was built for another release of Node.js or Electron",
        "A compiled module fits the numbered interface (NODE_MODULE_VERSION) that it was built "
        "for. Electron has numbers of its own.",
        (_AGAIN, _REBUILD),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "addon-needs-dll": Text(
        "A DLL that the compiled module of {package} needs is not found",
        "Windows names the module that was loaded, not the one that is missing: a DLL that it "
        "needs, mostly the runtime of Visual C++, which a fresh Windows does not have.",
        (
            command(
                "Install the Visual C++ runtime",
                *("winget", "install", "--exact", "--id", "Microsoft.VCRedist.2015+.x64"),
                *("--accept-package-agreements", "--accept-source-agreements"),
                use_if=(WINDOWS,),
            ),
            command(
                "Install the package again, with its DLLs",
                *("npm", "ci"),
                use_if=(WINDOWS, "a package-lock.json lies in the current folder"),
                note="It makes node_modules anew. A packaged program has to hold the other files "
                "of the module's folder too.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "addon-needs-library": Text(
        "{library}, which a compiled module of Node.js needs, is not found",
        "The loader searched the folders of the system, those of LD_LIBRARY_PATH and those that "
        "the module names.",
        (
            command(
                "See what the module asks for",
                "sh",
                "-c",
                "find node_modules -name '*.node' -exec ldd {} + | grep 'not found'",
                use_if=(LINUX,),
                look=True,
            ),
        ),
        severity=Severity.ERROR,
    ),
}
