"""Readers that turn files into pairs of segment and truth, one module per format."""
