"""Compiled modules that Node.js, Electron and bundlers cannot load."""

from __future__ import annotations

import pytest

from tests.analyzers.explained import explained, said

LINES = (
    (
        "Error: Cannot find module '../bin/napi-v3/darwin/arm64/onnxruntime_binding.node'",
        ("addon-not-bundled", "onnxruntime-node"),
    ),
    (
        (
            "Uncaught Error: Cannot find module "
            "'../bin/napi-v3/undefined/undefined/onnxruntime_binding.node'"
        ),
        ("addon-not-bundled", "a browser runs this code"),
    ),
    (
        (
            '✘ [ERROR] No loader is configured for ".node" files: '
            "node_modules/onnxruntime-node/bin/napi-v3/darwin/arm64/onnxruntime_binding.node"
        ),
        ("addon-not-bundled", "onnxruntime-node"),
    ),
    (
        (
            "Error: The specified module could not be found.\n"
            "\\\\?\\C:\\a\\node_modules\\onnxruntime-node\\bin\\napi-v3\\win32\\x64\\"
            "onnxruntime_binding.node"
        ),
        ("addon-needs-dll", "onnxruntime-node"),
    ),
    (
        (
            "Error: Could not locate the bindings file. Tried:\n"
            " → /srv/app/node_modules/node-tflite/build/node_tflite.node"
        ),
        ("addon-not-built", "node-tflite"),
    ),
    (
        "was compiled against a different Node.js version using",
        ("addon-of-other-release", "another release of Node.js"),
    ),
)


@pytest.mark.parametrize(("text", "expected"), LINES)
def test_the_package_of_a_compiled_module_is_named(text: str, expected: tuple[str, str]) -> None:
    """The finding names why the module does not load, and the package that has it."""
    kind, words = expected
    [(found, title)] = said(text)
    assert found == kind
    assert words in title


def test_the_bundler_of_the_log_chooses_the_configuration() -> None:
    """A log of webpack gets the configuration of webpack, and no other."""
    text = (
        "Error: Cannot find module '../bin/napi-v3/darwin/x64/onnxruntime_binding.node'\n"
        "- /srv/app/.webpack/main/index.js"
    )
    [one] = explained(text)
    places = [fix.snippet.where for fix in one.detection.recipes if fix.snippet]
    assert places == ["webpack.config of the main process"]


def test_a_missing_script_is_no_compiled_module() -> None:
    """A JavaScript file that is not found is nobody's binary."""
    assert not said("Error: Cannot find module './routes/index.js'")
