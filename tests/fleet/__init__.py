"""A fleet: engines on real schedulers, and the comparison of nodes."""
