"""Builds of the NVIDIA kernel module: nvidia-installer, DKMS and kbuild."""

from __future__ import annotations

from doctor.events.forms import Form, Voice

VOICES = (
    Voice(
        "the build of the NVIDIA module",
        (
            Form(
                "kernel-module-build",
                r"performing the step: \"Building kernel modules?\"",
                ("building kernel module",),
            ),
            Form(
                "kernel-module-build",
                r"DKMS (?:\(dkms-[\d.]{1,12}\) )?make\.log for nvidia(?:-open|-srv|-current)?[-/]"
                r"\d[\d.]{1,16} for kernel \S{3,80}",
                ("make.log for nvidia",),
            ),
            Form(
                "kernel-module-build",
                r"Consult /var/lib/dkms/nvidia[\w-]{0,10}/[\d.]{3,20}/",
                ("consult /var/lib/dkms/nvidia",),
            ),
            Form(
                "kernel-module-build",
                r"The kernel you are installing for is a PREEMPT_RT kernel",
                ("is a preempt_rt kernel",),
            ),
            Form(
                "kernel-module-build",
                r"\bnvidia(?:-\w{2,10})?\.ko failed to build",
                ("ko failed to build",),
            ),
            Form(
                "kernel-module-build",
                r"The nvidia(?:-\w{2,10})? kernel module (?:was not created|failed to build)",
                ("kernel module was not created", "kernel module failed to build"),
            ),
        ),
    ),
)
"""What stands in their logs once the module is not built."""
