"""What canaries of a Cargo workspace share.

What it resolves to, crates of ours beside it, and what their builds and programs said.
"""
