"""What is said of failures between processes."""

from __future__ import annotations

from doctor.analyzers.case import Precision
from doctor.analyzers.recipes import LINUX, code, command, more_shared_memory, variables
from doctor.analyzers.texts import Text
from doctor.model.issues import Action, Recipe
from doctor.model.scales import Severity

HERE = ("localhost", "127.0.0.1", "0.0.0.0", "[::1]")  # noqa: S104 - texts to look for
"""Addresses of the machine itself."""

CONSEQUENCES = {"peer-closed", "nccl-timeout", "connection-refused"}


def _debug() -> Recipe:
    return variables(
        "Have NCCL print the reason",
        {"NCCL_DEBUG": "INFO"},
        note="Run once more on all nodes: the first line with WARN names what failed.",
        lasting=False,
    )


def _interface() -> Recipe:
    return Recipe(
        title="Name the network interface that reaches the other nodes",
        use_if=(LINUX, "there are several nodes, or the machine has docker0 or VPN interfaces"),
        steps=(
            Action(env={"NCCL_SOCKET_IFNAME": "<interface>", "GLOO_SOCKET_IFNAME": "<interface>"}),
        ),
        ask={
            "interface": "the interface of the address of the other nodes, as ip -br addr shows it"
        },
    )


REASONS: dict[str, Text] = {
    "nccl-collectives-differ": Text(
        "The ranks call different exchanges: NCCL sees it around rank {rank}",
        "All ranks have to run the same exchanges in the same order. One of them took another way "
        "through the program: it saves, logs or evaluates alone, or had fewer batches.",
        (
            code(
                "Let all ranks make the call, and only one of them write",
                "what runs on one rank alone: saving, evaluation, logging",
                "state = model.state_dict()  # on all ranks\n"
                "if rank == 0:\n    torch.save(state, path)\ndist.barrier()",
                before="if rank == 0:\n    trainer.save_checkpoint(path)",
                note="In Lightning: trainer.save_checkpoint() and self.log(..., sync_dist=True) "
                "are called on each rank. Each rank needs as many batches: drop_last=True.",
            ),
            variables(
                "Have torch and NCCL name the call in which the ranks part",
                {
                    "TORCH_DISTRIBUTED_DEBUG": "DETAIL",
                    "NCCL_DEBUG": "INFO",
                    "NCCL_DEBUG_SUBSYS": "COLL",
                },
                lasting=False,
            ),
        ),
        precision=Precision.EXACT,
        severity=Severity.ERROR,
    ),
    "nccl-shared-memory-denied": Text(
        (
            "NCCL may not make {file}: this user has no right to write in /dev/shm",
            "NCCL may not make its shared memory: this user has no right to write in /dev/shm",
        ),
        "Ranks of one node exchange data in /dev/shm. The system refused the file, so that its "
        "size is not the matter. Anybody may write there where its mode is 1777.",
        (
            command(
                "Give /dev/shm its usual mode again",
                "chmod",
                "1777",
                "/dev/shm",  # noqa: S108 - a folder
                use_if=(LINUX, "ls -ld /dev/shm does not show drwxrwxrwt"),
                sudo=True,
                note="In a container, as its root. Without these rights, ask who runs the machine.",
            ),
            variables(
                "Do without shared memory",
                {"NCCL_SHM_DISABLE": "1"},
                note="Slower, and without any right in /dev/shm.",
                lasting=False,
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
        contradicts=("container/shared-memory-*", "nccl/system-error"),
    ),
    "nccl-ports-used-up": Text(
        "NCCL gets no port for a new communicator: {what}",
        "NCCL takes a free port itself, so that no other program can be in its way: all are taken. "
        "A program that makes a group in each step uses them up, since each communicator keeps its "
        "sockets. Neither shared memory nor the network interface matters.",
        (
            code(
                "Make the group once, and use it in every step",
                "the start of the program, outside the loop",
                "group = dist.new_group(ranks)",
                note="dist.new_group, init_process_group and DistributedDataParallel belong before "
                "the loop. Without group=, all_reduce takes the group of all ranks.",
            ),
            command(
                "Count the sockets by state, while the program runs",
                "ss",
                "-s",
                use_if=(LINUX,),
                look=True,
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
        contradicts=("nccl/*", "distributed/*"),
    ),
}
BETWEEN_TWO = Text(
    "NCCL: a rank waited {limit} ms for the other end ({operation})",
    "In a pipeline, or between a server's processes, one rank waits for what the other one sends. "
    "The other one had nothing to send for so long, as a server without requests, or it failed.",
    (
        code(
            "Let ranks wait longer, where pauses are normal",
            "the call that starts the group",
            "dist.init_process_group('nccl', timeout=datetime.timedelta(days=7))",
            note="A rank that failed shows its own error, further up or in its own log.",
        ),
        _debug(),
    ),
    severity=Severity.ERROR,
    precision=Precision.EXACT,
)
TABLE: dict[str, Text] = {
    "nccl-duplicate-gpu": Text(
        "NCCL: rank {rank} and rank {other} use one GPU ({device})",
        "Each process has to use its own GPU. Either more processes were started than there "
        "are GPUs, or each uses cuda:0 since its device was not set.",
        (
            code(
                "Give each process its own GPU",
                "the start of the program, before any tensor",
                'torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))',
            ),
            command(
                "See how many GPUs there are",
                "nvidia-smi",
                "-L",
                look=True,
                note="Start as many processes on each node.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "nccl-timeout": Text(
        (
            "NCCL: {operation} did not end within {limit} ms",
            "NCCL: an operation did not end in time",
        ),
        "A rank did not take part: it failed earlier, does something else meanwhile (loads "
        "data, saves a checkpoint), makes other calls, or its network does not answer. The "
        "log of the rank that is missing tells why.",
        (
            variables(
                "Have torch name the ranks that wait",
                {"TORCH_DISTRIBUTED_DEBUG": "DETAIL"},
                lasting=False,
            ),
            _debug(),
            code(
                "Wait longer, where one rank rightly takes its time",
                "the call that starts the group",
                "dist.init_process_group('nccl', timeout=datetime.timedelta(hours=2))",
            ),
        ),
        severity=Severity.ERROR,
    ),
    "nccl-shared-memory": Text(
        (
            "NCCL cannot make {file}: shared memory is too small or closed to this user",
            "NCCL cannot get shared memory: {why}",
            "NCCL cannot get shared memory",
        ),
        "Ranks of one node exchange data in /dev/shm. Docker gives a container 64 MB of it.",
        (
            more_shared_memory("In Kubernetes mount an emptyDir with medium: Memory at /dev/shm."),
            command(
                "See how full it is and who may write",
                "sh",
                "-c",
                "df -h /dev/shm; ls -ld /dev/shm",
                use_if=(LINUX,),
                look=True,
            ),
            variables("Do without shared memory", {"NCCL_SHM_DISABLE": "1"}, lasting=False),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "nccl-network": Text(
        "NCCL cannot reach another rank: {what}",
        "A connection between ranks could not be made, or broke. The wrong network interface "
        "(docker0, a VPN), a firewall between the nodes, or a peer that ended are the causes.",
        (
            _interface(),
            variables(
                "Do without InfiniBand",
                {"NCCL_IB_DISABLE": "1"},
                use_if=("the line speaks of NET/IB or ibv_",),
                lasting=False,
            ),
            _debug(),
        ),
        severity=Severity.ERROR,
    ),
    "nccl-version-mismatch": Text(
        "The ranks use different releases of NCCL",
        "All processes of a run have to load one release. Another libnccl.so comes first on "
        "LD_LIBRARY_PATH of one node, or the environments differ.",
        (
            command(
                "See which release each node has",
                "{python.executable}",
                "-c",
                "import torch; print(torch.__version__, torch.cuda.nccl.version())",
                look=True,
            ),
        ),
        severity=Severity.ERROR,
    ),
    "nccl-backend-missing": Text(
        "This torch has no NCCL",
        "NCCL exists for CUDA on Linux only. Builds for Windows, macOS and the processor have "
        "gloo.",
        (
            code(
                "Use gloo",
                "the call that starts the group",
                'dist.init_process_group("gloo")',
                before='dist.init_process_group("nccl")',
            ),
        ),
        severity=Severity.ERROR,
    ),
    "peer-closed": Text(
        (
            "Another rank ended or does not answer ({peer}): {why}",
            "Another rank ended or does not answer: {why}",
        ),
        "This process only reports that its partner is gone. The reason stands in the log of "
        "the other rank: the earliest error counts.",
        (),
    ),
    "gloo-address": Text(
        (
            "gloo cannot find an address of {host}",
            "gloo cannot find an address of this machine",
        ),
        "The name of the machine does not resolve to one of its own addresses.",
        (
            _interface(),
            command(
                "See what the name resolves to",
                "sh",
                "-c",
                'getent hosts "$(hostname)"',
                use_if=(LINUX,),
                look=True,
            ),
        ),
        severity=Severity.ERROR,
    ),
    "rendezvous-timeout": Text(
        (
            "The first rank at {host}:{port} does not answer: {what}",
            "The ranks did not find each other in time: {what}",
        ),
        "Fewer processes started than the run expects, MASTER_ADDR or MASTER_PORT differ "
        "between nodes, rank 0 failed earlier, or a firewall stands between the nodes.",
        (
            code(
                "Start every node with the same address and number of nodes",
                "the command on each node",
                "torchrun --nnodes 2 --node-rank 0 --master-addr 10.0.0.1 --master-port 29500 "
                "train.py",
                note="Only --node-rank differs. On one machine, --standalone suffices.",
            ),
            _interface(),
        ),
        severity=Severity.ERROR,
    ),
    "rank-variable-missing": Text(
        "The variable {name} is not set: the program was not started by a launcher",
        "A distributed program gets its rank and the address of rank 0 from torchrun, srun or "
        "mpirun. Started by python alone, it has none.",
        (
            code(
                "Start it with torchrun",
                "the command",
                "torchrun --standalone --nproc-per-node 1 train.py",
                before="python train.py",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "process-group-missing": Text(
        "The process group was not initialized",
        "A function of torch.distributed was called before init_process_group. The program "
        "expects to be started by a launcher, or checks nothing in between.",
        (
            code(
                "Initialize the group first",
                "the start of the program",
                'torch.distributed.init_process_group("nccl")',
            ),
            code(
                "Start it with torchrun",
                "the command",
                "torchrun --standalone --nproc-per-node 1 train.py",
                before="python train.py",
            ),
        ),
    ),
    "rank-out-of-range": Text(
        ("Rank {rank} does not exist in a group of {size}", "Rank {rank} is beyond the group"),
        "The number of processes that were started and WORLD_SIZE differ, or an old variable "
        "is set in the shell.",
        (
            code(
                "Leave rank and size to torchrun",
                "a new shell, where RANK and WORLD_SIZE are not set",
                "torchrun --nproc_per_node=2 train.py",
            ),
        ),
    ),
    "proxy-answers": Text(
        (
            "A proxy answers a request for this machine itself (status {status})",
            "A proxy answers a request for this machine itself (502 Bad Gateway)",
        ),
        "The variables http_proxy and https_proxy send requests for localhost to the proxy, "
        "which does not reach it. What follows, such as a server that is killed, comes of it.",
        (
            variables(
                "Leave local addresses out of the proxy",
                {
                    "no_proxy": "localhost,127.0.0.1,0.0.0.0,::1",
                    "NO_PROXY": "localhost,127.0.0.1,0.0.0.0,::1",
                },
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "connection-refused": Text(
        ("Nothing listens at {host}:{port}", "Nothing listens at the address"),
        "The machine answered that no program listens there. The server is not started yet, "
        "failed (its own log tells why), or listens at another address or port. In a "
        "container, localhost is the container itself.",
        (command("See what listens", "sh", "-c", "ss -ltn", use_if=(LINUX,), look=True),),
        severity=Severity.ERROR,
    ),
}
