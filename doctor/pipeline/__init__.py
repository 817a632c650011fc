"""From a request to a report, stage by stage.

    CheckRequest, DiagnoseRequest -> observe -> Observation -> derive -> Derived -> judge
    -> Diagnosis -> plan fixes, suppress -> Findings -> policy -> Report

The command line and the Python API both build a request and call `check` or `diagnose` here.
"""
