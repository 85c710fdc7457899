"""Text that must come out of a translation unchanged: placeholders, tags, addresses, mnemonics and line breaks."""
