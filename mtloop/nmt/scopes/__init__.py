"""Which parameters of a neural model learn."""
