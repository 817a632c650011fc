"""The report for a terminal."""
