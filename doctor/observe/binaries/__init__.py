"""Read compiled files: ELF headers, symbols, GPU code, what the dynamic loader would take."""
