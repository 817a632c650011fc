"""Copy, snapshot and restore an environment, and ask its installer what it would do."""
