"""Nodes of clusters that offer GPUs: the device plugin, the GPU operator, MIG."""

from __future__ import annotations

from doctor.events.forms import Form, Voice

VOICES = (
    Voice(
        "Docker",
        (
            Form(
                "compose-option-unknown",
                r"Unsupported config option for (?P<place>[\w.-]{3,80}): '(?P<option>\w{2,40})'"
                r"|Additional property (?P<option2>runtime|gpus|device_requests|devices) is not "
                r"allowed|services\.\w{1,60}\.deploy\.resources\.reservations value Additional "
                r"properties are not allowed \('(?P<option3>devices)'",
                ("unsupported config option", "additional propert"),
            ),
            Form(
                "nvidia-hook-missing",
                r"(?:exec:|stat|fork/exec) \"?(?P<file>(?:/\S{1,60}/)?nvidia-(?:container-runtime"
                r"(?:-hook)?|container-toolkit|container-cli|cdi-hook|ctk))\"?: (?:no such file or "
                r"directory|executable file not found)",
                ("nvidia-c",),
            ),
            Form(
                "nvidia-hook-direct",
                r"invoking the NVIDIA Container Runtime Hook directly",
                ("container runtime hook directly",),
            ),
        ),
    ),
    Voice(
        "NVIDIA device plugin",
        (
            Form(
                "plugin-without-driver",
                r"Incompatible (?:platform|strategy) detected|Detected non-NVML platform"
                r"|If this is a GPU node, did you (?:configure|set) (?:the|up the) NVIDIA"
                r"|No devices found\. Waiting indefinitely",
                (
                    "incompatible platform detected",
                    "incompatible strategy detected",
                    "detected non-nvml platform",
                    "if this is a gpu node",
                    "no devices found. waiting",
                ),
            ),
        ),
    ),
    Voice(
        "NVIDIA GPU operator",
        (
            Form(
                "driver-in-use",
                r"Could not unload NVIDIA driver kernel modules, driver is in use"
                r"|Unable to unload driver modules|Failed to uninstall nvidia driver components",
                (
                    "driver is in use",
                    "unable to unload driver modules",
                    "failed to uninstall nvidia driver",
                ),
            ),
            Form(
                "operator-no-kernel",
                r"Could not resolve Linux kernel version"
                r"|[Uu]nable to find a match: kernel-(?:headers|devel)\S{0,60}"
                r"|E: Unable to locate package linux-headers-(?P<kernel>\S{3,60})",
                (
                    "could not resolve linux kernel",
                    "unable to find a match: kernel-",
                    "locate package linux-headers",
                ),
            ),
            Form(
                "operator-waits",
                r"waiting for (?P<what>nvidia container stack|NVIDIA container stack"
                r"|toolkit validations?) to (?:be setup|complete|be ready)"
                r"|Waiting for (?P<what2>NVIDIA driver) to be (?:installed|ready)",
                ("waiting for nvidia container", "waiting for toolkit val", "nvidia driver to be"),
            ),
        ),
    ),
    Voice(
        "UCX",
        (
            Form(
                "ucx-device",
                r"UCX {1,4}ERROR {1,4}.{0,200}(?:on|device) (?P<device>mlx\d_\d{1,2}|\w{1,20}:\d)"
                r"(?::\d)?.{0,40}failed: (?P<why>[\w ]{3,60})"
                r"|pml_ucx\.c:\d{1,5} {1,4}Error: ucp_\w{3,30}\(.{0,40}\) failed: "
                r"(?P<why2>[\w /]{3,60})",
                ("ucx  error", "pml_ucx.c"),
            ),
        ),
    ),
    Voice(
        "MIG",
        (
            Form(
                "mig-no-room",
                r"Unable to create a (?:GPU|compute) instance on .{0,60}: (?P<why>Insufficient "
                r"Resources|Not Supported|Invalid Argument)",
                ("unable to create a gpu instance", "unable to create a compute instance"),
            ),
            Form(
                "mig-in-use",
                r"(?:In use by another client|Unable to (?:enable|disable) MIG Mode|MIG mode is in "
                r"pending (?:enable|disable) state)",
                ("in use by another client", "able mig mode", "mig mode is in pending"),
            ),
        ),
    ),
)
