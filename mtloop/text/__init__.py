"""Tokenisation, truecasing, stop words and subwords: one home for all who need them."""
