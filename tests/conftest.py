"""Settings of every test."""

from hypothesis import settings

settings.register_profile("mtloop", deadline=None, derandomize=True)
settings.load_profile("mtloop")
