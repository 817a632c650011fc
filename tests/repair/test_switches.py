"""A variable goes before a settings file that asks for a backend which is not here."""

from __future__ import annotations

from doctor.repair.failures import failure_of
from doctor.repair.switches import switches

_TRACE = """Traceback (most recent call last):
  File "/e/site-packages/{}/backend.py", line 1, in <module>
{}
"""


def test_the_variable_of_a_backend_that_is_here() -> None:
    def found(package: str, error: str, *listed: str, **env: str) -> list[str]:
        failure = failure_of(_TRACE.format(package, error))
        return [what for what, _ in switches(failure, env, {"jax", "numpy"}, listed)]

    absent = "ModuleNotFoundError: No module named 'tensorflow'"
    assert found("keras", absent) == ["KERAS_BACKEND=jax"]
    assert found("keras", absent, "tensorflow") == []
    assert found("keras", absent, KERAS_BACKEND="tensorflow") == []
    assert found("pandas", absent) == []
    assert found("keras", "ModuleNotFoundError: No module named 'jax'") == []
    shown = "ImportError: Cannot load backend 'TkAgg' which requires 'tk': it is headless"
    assert found("matplotlib", shown) == ["MPLBACKEND=agg"]
