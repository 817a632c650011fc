"""What is said where a program may not open the devices of ROCm."""

from __future__ import annotations

from doctor.analyzers.case import Precision
from doctor.analyzers.recipes import LINUX, command
from doctor.analyzers.texts import Text
from doctor.model.issues import Action, Recipe
from doctor.model.scales import Severity

_GROUPS = "render,video"

DENIED = Text(
    (
        "There is no {file} here: {gone} or directory",
        "This user may not open {file}",
        "{user} is not in the group {group}",
    ),
    "ROCm computes through /dev/kfd and /dev/dri/render*, which belong to the groups "
    "render and video. A container needs both devices as well, and the number that the group "
    "render has on the host. A service runs as an account of its own, which needs the groups too.",
    (
        Recipe(
            title="Add {log.user} to the groups, then log in again or restart its service",
            use_if=(LINUX,),
            steps=(Action(run=("usermod", "-a", "-G", _GROUPS, "{log.user}"), sudo=True),),
        ),
        command(
            "Add the user to the groups, then log in again",
            "sh",
            "-c",
            f'usermod -a -G {_GROUPS} "$SUDO_USER"',
            use_if=(LINUX, "it is no container"),
            sudo=True,
        ),
        command(
            "Start the container with the devices, and with the groups of the host",
            "sh",
            "-c",
            "docker run --device=/dev/kfd --device=/dev/dri --group-add video "
            '--group-add "$(getent group render | cut -d: -f3)" "$1"',
            "sh",
            "<image>",
            use_if=(LINUX, "the program runs in a container"),
            ask={"image": "the image of the program"},
        ),
        Recipe(
            title="Add the account of Ollama's service to the groups, and start it again",
            use_if=(LINUX, "Ollama runs as a service"),
            shown=(
                r"\bamd_linux\.go\b",
                r"(?:useradd|systemctl|journalctl) .{0,80}\bollama\b|\bollama\.service\b",
            ),
            unless=(r"(?:docker|podman) (?:run|exec|logs)\b", r"\bdocker-compose\b"),
            note="ollama serve in a terminal runs as the user of the terminal: that one is added, "
            "and logs in again. A GPU that ROCm does not know may want HSA_OVERRIDE_GFX_VERSION "
            "as well.",
            steps=(
                Action(run=("usermod", "-a", "-G", _GROUPS, "ollama"), sudo=True),
                Action(run=("systemctl", "restart", "ollama"), sudo=True),
            ),
        ),
        Recipe(
            title="Start the container of Podman with the devices, and with the user's groups",
            use_if=(LINUX, "Podman runs the container"),
            shown=(r"\bpodman (?:run|exec|logs|compose)\b",),
            unless=(r"\bdocker (?:run|compose)\b",),
            note="keep-groups wants the runtime crun, and the user in the groups on the host.",
            steps=(
                Action(
                    run=(
                        *("podman", "run", "--device=/dev/kfd", "--device=/dev/dri"),
                        *("--group-add", "keep-groups", "<image>"),
                    )
                ),
            ),
            ask={"image": "the image of the program"},
        ),
    ),
    severity=Severity.ERROR,
    precision=Precision.EXACT,
)
