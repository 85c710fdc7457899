"""Run the command line: `python -m mtloop` is the same as `mtloop`."""

from mtloop.cli import main

main()
