"""Run a Ray cluster of four local nodes: a program for a Python that has Ray.

It prints the address, then the ids of the nodes, and ends with its standard input; a line `lose ID`
there kills a node.
"""

from __future__ import annotations

import sys

from ray.cluster_utils import Cluster


def main() -> None:
    """Start the nodes, follow standard input, and end them."""
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    try:
        nodes = [cluster.head_node, *(cluster.add_node(num_cpus=1) for _ in range(3))]
        print(cluster.address, *(node.node_id for node in nodes), flush=True)
        for line in sys.stdin:
            for node in nodes:
                if node.node_id[:8] == line.split()[-1]:
                    cluster.remove_node(node, allow_graceful=False)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main()
