"""What is known, as data: load it, its schemas, the headers of check scripts."""
