"""Probes: one per subject, each turning what a host shows into facts.

Each module and each package of this folder is a probe: it has a function `probe(scene)`. Helpers of
a probe live inside its package.
"""
