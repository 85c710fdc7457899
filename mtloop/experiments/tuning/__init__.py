"""Tuning: a search over the settings of a method on one part of a stream, with a report on another part."""
