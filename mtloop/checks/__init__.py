"""The contracts as tests, for this package's own parts and for plugin authors' alike."""
