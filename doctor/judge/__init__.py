"""Judge an observation against the catalog. Pure."""
