"""Shared tasks: the two rules (`submissions.py`), routes, tables, store."""
