"""Those who answer a proposal."""

from mtloop.judges.post_editor import PostEditor

__all__ = ["PostEditor"]
