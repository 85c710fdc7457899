"""Those who answer a proposal."""

from mtloop.judges.noise import Noise
from mtloop.judges.post_editor import PostEditor

__all__ = ["Noise", "PostEditor"]
