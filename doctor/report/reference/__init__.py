"""What doctor knows, for a person: one issue, one check, lists."""
