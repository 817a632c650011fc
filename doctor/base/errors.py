"""The root of every error that doctor raises on purpose."""

from __future__ import annotations


class DoctorError(Exception):
    """Something doctor could not do; the message says what, where, and what to do about it."""


class UsageError(DoctorError):
    """The command line or the configuration asks for something that cannot be (exit code 2)."""


class InputError(DoctorError):
    """A file that was handed in cannot be read as what it should be."""


class WriteError(DoctorError):
    """A report, or another file that was asked for, cannot be written."""
