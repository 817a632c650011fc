"""What each release of a package brings: symbols, names, headers, libraries."""
