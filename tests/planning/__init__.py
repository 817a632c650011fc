"""Plans for all findings of an environment."""
