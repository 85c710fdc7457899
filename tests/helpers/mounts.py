"""Shell commands in a mount namespace of their own: nobody else sees the full or read-only disk that they mount."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest


def _unshare() -> list[str]:
    own_user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *own_user, "--mount", "sh", "-c"]


def _possible() -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*_unshare(), "mount -t tmpfs none /mnt"], capture_output=True, check=False).returncode == 0


needs_mounts = pytest.mark.skipif(not _possible(), reason="no right to mount a file system")


def in_mount_namespace(commands: str) -> subprocess.CompletedProcess[str]:
    """Run shell commands and return what they print."""
    return subprocess.run([*_unshare(), commands], capture_output=True, text=True, timeout=300, check=False)
