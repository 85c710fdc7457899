from __future__ import annotations

from pathlib import Path

import pytest

from mtloop.core.errors import InputError
from mtloop.core.toml import read_toml


def test_a_file_that_cannot_be_read_gives_the_reason(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: no such file$"):
        read_toml(tmp_path / "none.toml")
    with pytest.raises(InputError, match=f"^{tmp_path}: cannot be read: Is a directory$"):
        read_toml(tmp_path)
    (tmp_path / "bad.toml").write_text("name = ")
    with pytest.raises(InputError, match=r"bad\.toml: not a TOML file: "):
        read_toml(tmp_path / "bad.toml")
