"""A translator that learns: what `mtloop.load` returns."""
