"""A router for each resource."""
