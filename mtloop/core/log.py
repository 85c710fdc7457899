"""The logger of mtloop. The command line prints its warnings on stderr; a Python program may configure it as usual."""

from __future__ import annotations

import logging

PREFIX = "mtloop: "  # of every message on stderr
logger = logging.getLogger("mtloop")


def log_to_stderr() -> None:
    """Print warnings on stderr, each as one line that begins with `mtloop:`."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(f"{PREFIX}%(message)s"))
    logger.handlers, logger.propagate = [handler], False
