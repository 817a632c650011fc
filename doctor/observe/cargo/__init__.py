"""A Cargo workspace: the toolchain that it would use, its lock, cargo's own resolution of it, and what its Rust sources say."""
