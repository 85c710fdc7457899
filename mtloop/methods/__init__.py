"""Names to objects: one registry of what the command line, TOML files and Python call by name."""
