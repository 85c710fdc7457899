"""Text processing: tokenisation, truecasing, stop words, subwords and text files."""
