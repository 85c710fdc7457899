"""`python -m mtloop` is `mtloop`."""

from mtloop.cli import main

main()
