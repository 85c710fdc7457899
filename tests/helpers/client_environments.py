"""The clients of other translation services, each in an environment of its own.

`make test` installs those that need seconds, `make install-slow` all.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / ".venv" / "clients"


def run_client(name: str, script: str, *arguments: str, environment: dict[str, str] | None = None) -> Any:
    """Run a script with a client's Python or Node.js, and return the JSON that it prints last."""
    place = FOLDER / name
    if not place.is_dir():
        pytest.skip(f"the client {name} is not installed: make install-slow")
    if (place / "package.json").is_file():
        command = ["node", "--input-type=commonjs", "-e", script, "--", *arguments]
    else:
        command = [str(place / "bin" / "python"), "-c", script, *arguments]
    variables = os.environ | (environment or {})
    done = subprocess.run(command, cwd=place, env=variables, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
