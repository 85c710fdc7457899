"""Tuning: a search over a method's keywords on one part of a stream, reported on another."""
