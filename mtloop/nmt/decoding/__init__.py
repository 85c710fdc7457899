"""What influences the next token while decoding: a memory of confirmed segments, copied words."""
