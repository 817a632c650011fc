"""What is installed in another environment, read from its files."""
