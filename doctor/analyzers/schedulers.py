"""Explain jobs that a scheduler does not start: Ray, Slurm, MPI, Kubernetes, Docker."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import LINUX, code, command, more_shared_memory, variables
from doctor.analyzers.texts import Text, explained
from doctor.model.scales import Severity


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what a job asks for and its scheduler does not have."""
    yield from explained(case, _TABLE)


_RAY_STATUS = command(
    "See which resources the cluster has, and what waits for which",
    "ray",
    "status",
    look=True,
)

_TABLE: dict[str, Text] = {
    "ray-resource-missing": Text(
        "The Ray cluster never has what is asked for: {asked}",
        "No node, or no set of nodes, has these resources free. Ray counts a GPU where the node "
        "showed it when ray start ran there.",
        (
            _RAY_STATUS,
            command(
                "Start the node again with its GPUs named",
                "ray",
                "start",
                "--address=<head>",
                "--num-gpus=<gpus>",
                ask={
                    "head": "the address of the first node with its port, such as 10.0.0.1:6379",
                    "gpus": "the number of GPUs of this node",
                },
                note="Run ray stop there first. Otherwise ask for less: tensor_parallel_size, "
                "num_gpus or num_workers.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "ray-small-shared-memory": Text(
        "The container has only {bytes} bytes of shared memory (/dev/shm)",
        "Docker gives 64 MB. Ray and NCCL exchange data there: several GPUs in one container fail "
        "without more.",
        (
            more_shared_memory(
                "Or --ipc=host. In Kubernetes mount an emptyDir with medium: Memory at /dev/shm."
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "ray-driver-without-gpu": Text(
        "The node that starts the program has no GPU in the Ray cluster",
        "vLLM wants a GPU where its first process runs. The head node has none, or Ray was started "
        "there with --num-gpus=0.",
        (
            command(
                "Start Ray on this node with its GPUs",
                "ray",
                "start",
                "--head",
                "--num-gpus=<gpus>",
                ask={"gpus": "the number of GPUs of this node"},
                note="Run ray stop first. Otherwise start the program on a node with GPUs.",
            ),
            _RAY_STATUS,
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "ray-node-not-started": Text(
        "The processes of Ray did not start on this node in time",
        "They crashed while they started, or wait: too few processors or threads for the container "
        "or the job, an older session in /tmp/ray, a proxy, or another release of a package.",
        (
            command(
                "See what they wrote last",
                "sh",
                "-c",
                "tail -n 20 /tmp/ray/session_latest/logs/raylet.err "
                "/tmp/ray/session_latest/logs/gcs_server.err "
                "/tmp/ray/session_latest/logs/dashboard_agent.log",
                use_if=(LINUX,),
                look=True,
            ),
            command(
                "End what is left of an older session, and start anew with few processes",
                "sh",
                "-c",
                "ray stop --force; ray start --head --num-cpus=8",
                use_if=(LINUX, "no other job of yours uses Ray on this node"),
                note="Ray starts a process for each processor that it counts, and a container "
                "mostly has fewer than its machine.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "slurm-more-than-allowed": Text(
        "Slurm has no place for the job as it asks: {what}",
        "The number of tasks, processors, GPUs or the memory does not fit the nodes of the "
        "partition, or the step asks for more than the job got.",
        (
            command(
                "See what the nodes of each partition have",
                "sinfo",
                "-o",
                "%P %D %c %m %G %l",
                look=True,
                note="The columns: partition, nodes, processors, memory in MB, GPUs, time limit. "
                "Ask for no more in --cpus-per-task, --ntasks-per-node, --gres and --mem.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "slurm-pmi-missing": Text(
        "srun and the program have no common way to start MPI (PMI)",
        "This Slurm was built without the plugin that the MPI asks for.",
        (
            command("See which ways this Slurm has", "srun", "--mpi=list", look=True),
            code(
                "Start the processes with mpirun inside the job",
                "the job script",
                "mpirun -n $SLURM_NTASKS python train.py",
                before="srun --mpi=pmix python train.py",
                note="torchrun needs no MPI at all.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "slurm-tasks": Text(
        "Lightning wants the number of tasks of each node, not the whole number ({tasks})",
        "It reads SLURM_NTASKS_PER_NODE, and --ntasks leaves that open.",
        (
            code(
                "Name the tasks of each node",
                "the job script",
                "#SBATCH --ntasks-per-node=2",
                before="#SBATCH --ntasks={log.tasks}",
                note="Write as many as the Trainer has devices in the place of 2.",
            ),
            command(
                "In an interactive session, start it without the variable of Slurm",
                "env",
                "-u",
                "SLURM_NTASKS",
                "{python.executable}",
                "<program>.py",
                ask={"program": "the program"},
                use_if=(LINUX,),
            ),
        ),
        precision=Precision.EXACT,
    ),
    "mpi-slots": Text(
        "mpirun has fewer slots than the {slots} processes that were asked for",
        "Open MPI counts the cores of the machine, or what the scheduler gave.",
        (
            command(
                "Allow more processes than slots",
                "mpirun",
                "--oversubscribe",
                "-n",
                "{log.slots}",
                "<program>",
                ask={"program": "the program with its arguments"},
                note="Each process that uses a GPU still needs its own GPU.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "mpi-root": Text(
        "mpirun does not start as root",
        "Open MPI refuses root, who is the usual user in containers.",
        (
            variables(
                "Allow it, in a container",
                {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
                note="The option --allow-run-as-root does the same for one start.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "gpu-share-full": Text(
        "No GPU of the node has {asked} free for this pod",
        "The plugin that shares GPUs between pods gives a name in the place of a device where it "
        "finds none: the node is full, or its plugin did not count the GPUs.",
        (
            command(
                "See how much of each GPU the pods hold",
                "kubectl",
                "inspect",
                "gpushare",
                look=True,
                note="It is a plugin of kubectl. Restart the pod of gpushare-device-plugin where "
                "its numbers are wrong, and use no second device plugin beside it.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
        contradicts=("container/gpu-number-unknown",),
    ),
    "image-of-other-processor": Text(
        (
            "The image is for {image}, and the machine is {host}",
            "{file} is made for another kind of processor than this machine's",
            "The image is made for another kind of processor than this machine's",
        ),
        "An image for x86-64 does not run on ARM (Apple silicon, Grace, Jetson, Graviton), nor the "
        "other way round. A script without a first line such as #!/bin/sh says the same.",
        (
            command(
                "Build the image for this machine's processor",
                "docker",
                "build",
                "--no-cache",
                "-t",
                "<image>",
                ".",
                ask={"image": "the name of the image"},
                use_if=("you have its Dockerfile",),
                note="Before: docker buildx imagetools inspect <image> lists the processors that "
                "an image on a registry is there for.",
            ),
            command(
                "Run it by emulation, which is slow and has no GPU",
                "docker",
                "run",
                "--rm",
                "--platform",
                "linux/amd64",
                "<image>",
                ask={"image": "the name of the image"},
                use_if=("the image is for x86-64",),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
}
