"""Prove a plan in a clone, apply it, undo it, and bisect two environments."""
