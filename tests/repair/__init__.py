"""Plans are confirmed, proved, applied and undone."""
