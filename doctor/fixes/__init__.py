"""Turn recipes into commands for this machine, interpreter and installer. Pure."""
