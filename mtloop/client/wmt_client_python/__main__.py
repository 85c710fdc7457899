"""Run an unchanged program of 2017: its `import wmt_client_python` imports this package."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from mtloop.client import wmt_client_python
from mtloop.client.wmt_client_python import api, models, rest

NAME = "wmt_client_python"


def main(arguments: list[str]) -> None:
    """Run the program in the first argument with the other arguments."""
    if not arguments:
        sys.exit(f"usage: python -m mtloop.client.{NAME} program.py ARGUMENTS")
    sys.modules[NAME] = wmt_client_python
    sys.modules |= {f"{NAME}.{module.__name__.rpartition('.')[2]}": module for module in (api, models, rest)}
    sys.argv = arguments
    sys.path[0] = str(Path(arguments[0]).resolve().parent)
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
