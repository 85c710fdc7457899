"""Those who propose."""

from mtloop.translators.recorded import Recorded

__all__ = ["Recorded"]
