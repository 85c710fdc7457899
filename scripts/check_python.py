"""Check the Python version and venv support before the installation; print one line if something is missing."""

import importlib.util
import sys

if sys.version_info < (3, 11):
    sys.exit(f"mtloop needs Python 3.11 or newer, this is {sys.version.split()[0]}; run: make PYTHON=python3.11 ...")
if importlib.util.find_spec("ensurepip") is None:
    sys.exit("this Python cannot create virtual environments; on Debian and Ubuntu run: apt-get install python3-venv")
