"""Tables of human scores."""
