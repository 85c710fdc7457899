"""Shared tasks: routes, rules, tables, store."""
