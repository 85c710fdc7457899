"""Shared tasks as a service: it serves sources one by one, answers a translation with a reward, and keeps the score."""

from mtloop.service.app import create_app
from mtloop.service.settings import Settings

__all__ = ["Settings", "create_app"]
