"""Tables of human and automatic scores of several systems."""
