"""Search one plan for all findings of a target, or for a list of requirements."""
