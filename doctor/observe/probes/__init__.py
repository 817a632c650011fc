"""Probes: one file per subject, each turning what a host shows into facts."""
