"""From the recipes of a diagnosis to the commands for this machine, this interpreter, this installer; pure."""
