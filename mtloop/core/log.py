"""The logger of mtloop. The command line prints its warnings on stderr; a Python program may configure it as usual."""

from __future__ import annotations

import logging

logger = logging.getLogger("mtloop")
