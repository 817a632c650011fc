"""Frozen values that every other part of doctor speaks in; no behaviour."""
