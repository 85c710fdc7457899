"""The HTTP service. Shared tasks: it serves source sentences one by one and answers each translation with a reward."""

from mtloop.service.app import create_app
from mtloop.service.settings import Settings

__all__ = ["Settings", "create_app"]
