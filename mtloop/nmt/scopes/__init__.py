"""Scopes: the parameters of a neural model that learn, and how they are updated."""
