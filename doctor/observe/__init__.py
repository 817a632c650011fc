"""Look at a host and its targets: probes first, then checks. Judges nothing."""
