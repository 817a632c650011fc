"""Edit the lines of a project that pin a package, one module for each kind of file."""
