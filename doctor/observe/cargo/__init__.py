"""Examine a Cargo workspace: its toolchain, its lock, cargo's resolution, its sources."""
