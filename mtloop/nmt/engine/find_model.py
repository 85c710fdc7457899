"""Find a model by name: the embedded one, a folder, or one on the Hugging Face hub."""

from __future__ import annotations

from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from mtloop.core.errors import InputError, need

EMBEDDED = {"en-de": "mtloop_en_de"}  # model name: the Python package with its files


def find_model(name: str) -> Path:
    """Return the folder of a model; download it if it is on the hub."""
    if name in EMBEDDED:
        return _embedded(name)
    if Path(name).is_dir():
        return Path(name)
    if name.count("/") == 1 and not name.startswith((".", "/")):
        return _from_hub(name)
    known = ", ".join(EMBEDDED)
    raise InputError(f"no model {name!r}: give a folder, a hub name such as Helsinki-NLP/opus-mt-en-de, or: {known}")


def _embedded(name: str) -> Path:
    package = EMBEDDED[name]
    if find_spec(package) is None:
        raise InputError(f"model {name!r} is not installed; {_install_hint(name)}")
    return Path(str(files(package)))


def _install_hint(name: str) -> str:
    """How to get the model: from the clone of the repository that this code is in, else without one."""
    folder = Path(__file__).parents[3] / "models" / name
    if folder.is_dir():
        return f"run: pip install '{folder}'"
    return f"it is the package mtloop-{name}; without it, use the hub's Helsinki-NLP/opus-mt-{name} as the model"


def _from_hub(name: str) -> Path:
    hub = need("huggingface_hub", "nmt")
    try:
        return Path(hub.snapshot_download(name, allow_patterns=["*.json", "*.spm", "*.safetensors", "*.bin"]))
    except Exception as error:  # the hub library raises many types, and all of them mean that the download failed
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"model {name!r} could not be fetched from the hub: {reason}") from error
