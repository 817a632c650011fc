"""From a request to a report, stage by stage."""
