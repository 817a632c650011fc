"""Reporters: a report in, text out; one file per format."""
