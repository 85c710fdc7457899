"""The learning methods and their registry, for the command line, TOML files and Python."""
