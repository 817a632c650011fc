"""Adapters to the schedulers that clusters already run."""
