"""Run doctor on the nodes of a cluster, and compare what they report."""
