"""Hold a process tree in a Windows job object.

Each process that starts inside belongs to the job, and ends with its last handle.

https://learn.microsoft.com/windows/win32/procthread/job-objects
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from typing import Any

_EXTENDED_LIMITS = 9
_KILL_ON_CLOSE = 0x2000
"""JobObjectExtendedLimitInformation and JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE of winnt.h."""


class BasicLimits(ctypes.Structure):
    """JOBOBJECT_BASIC_LIMIT_INFORMATION of winnt.h."""

    _fields_ = (
        ("process_time", ctypes.c_int64),
        ("job_time", ctypes.c_int64),
        ("flags", ctypes.c_uint32),
        ("least_working_set", ctypes.c_size_t),
        ("most_working_set", ctypes.c_size_t),
        ("processes", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("priority", ctypes.c_uint32),
        ("scheduling", ctypes.c_uint32),
    )


class ExtendedLimits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION of winnt.h."""

    _fields_ = (
        ("basic", BasicLimits),
        ("io", ctypes.c_uint64 * 6),
        ("memory", ctypes.c_size_t * 4),
    )


class Job:
    """Holds a process that was just started, and what it starts from now on.

    Nothing where Windows does not let it.
    """

    def __init__(self, process: Any) -> None:
        self._kernel: Any = None
        self._handle: Any = None
        if sys.platform == "win32" or hasattr(ctypes, "WinDLL"):
            with contextlib.suppress(OSError, AttributeError):
                self._hold(process)

    def _hold(self, process: Any) -> None:
        self._kernel = kernel = getattr(ctypes, "WinDLL")("kernel32", use_last_error=True)  # noqa: B009 - other systems have none
        handle = ctypes.c_void_p
        kernel.CreateJobObjectW.restype, kernel.CreateJobObjectW.argtypes = (
            handle,
            (handle, ctypes.c_wchar_p),
        )
        kernel.SetInformationJobObject.argtypes = (handle, ctypes.c_int, handle, ctypes.c_uint32)
        kernel.AssignProcessToJobObject.argtypes = (handle, handle)
        kernel.TerminateJobObject.argtypes = (handle, ctypes.c_uint32)
        kernel.CloseHandle.argtypes = (handle,)
        job, limits = kernel.CreateJobObjectW(None, None), ExtendedLimits()
        limits.basic.flags = _KILL_ON_CLOSE
        kernel.SetInformationJobObject(
            job, _EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits)
        )
        if kernel.AssignProcessToJobObject(job, int(process._handle)):  # noqa: SLF001 - subprocess names it nowhere else
            self._handle = job
        else:
            kernel.CloseHandle(job)

    def end(self) -> None:
        """End everything in it."""
        if self._handle:
            self._kernel.TerminateJobObject(self._handle, 1)
            self._kernel.CloseHandle(self._handle)
            self._handle = None
