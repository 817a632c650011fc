"""Turn a log into events: who reports what about which object, and where it was printed."""
