"""Engines: processes that run the learners of projects."""
