"""Tests: one folder or file for each part of doctor, and one for each promise."""
