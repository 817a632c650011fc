"""The report for programs: JSON, SARIF, JUnit, annotations of CI systems, `collect_env`."""
