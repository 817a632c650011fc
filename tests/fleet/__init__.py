"""Tests of doctor.fleet."""
