"""Commands that write files, on a read-only file system: one line, and nothing is written."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
import torch
from helpers.mounts import in_mount_namespace, needs_mounts
from safetensors.torch import load_file

COMMANDS = {
    "run": "run --data IN/d.tsv --method copy-source --out OUT/x.jsonl",
    "run that is resumed": "run --data IN/d.tsv --method copy-source --out OUT/old.jsonl --resume",
    "compare": "compare --data IN/d.tsv --methods copy-source --out OUT/c",
    "report": "report --ref IN/de.txt --hyp IN/de.txt --out OUT/r.html",
    "select": "select --ratings IN/r.tsv --out OUT/s",
    "translate": "translate IN/a.po --method copy-source --source-lang en --target-lang de --out OUT/b.po",
    "translate in place": "translate OUT/a.po --method copy-source --source-lang en --target-lang de --out OUT/a.po",
    "model convert": "model convert IN/bin OUT/m",
    "model choose": "model choose --data IN/d.tsv --model IN/model --limit 1 --out OUT/f.json",
    "task create": "task create a --kind mock --source IN/en.txt --reference IN/de.txt --folder OUT/d",
    "participant add": "participant add bob --folder OUT/d",
    "demo": "demo --out OUT/demo",
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory, model: Path) -> Path:
    """A folder with an input for every command."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "d.tsv").write_text("source\ttarget\nSave the file.\tSichern.\nOpen it.\tÖffnen.\n", encoding="utf-8")
    (folder / "en.txt").write_text("Save.\nOpen.\n", encoding="utf-8")
    (folder / "de.txt").write_text("Sichern.\nÖffnen.\n", encoding="utf-8")
    (folder / "r.tsv").write_text("system\tsegment\tscore\na\t1\t0.5\nb\t1\t0.7\n", encoding="utf-8")
    header = 'msgid ""\nmsgstr ""\n"Language: de\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    (folder / "a.po").write_text(header + 'msgid "Save"\nmsgstr ""\n', encoding="utf-8")
    (folder / "model").symlink_to(model)
    (folder / "bin").mkdir()
    for path in model.iterdir():
        if path.suffix != ".safetensors":
            (folder / "bin" / path.name).write_bytes(path.read_bytes())
    torch.save(load_file(model / "model.safetensors"), folder / "bin" / "pytorch_model.bin")
    return folder


@pytest.mark.slow
@needs_mounts
def test_commands_on_a_read_only_file_system_say_so_in_one_line(inputs: Path, tmp_path: Path) -> None:
    """All commands share one mount, because most of the time is the import of torch."""
    out, mtloop = tmp_path / "out", f"{shlex.quote(sys.executable)} -m mtloop"
    out.mkdir()
    trace = f"run --data {inputs}/d.tsv --method copy-source --limit 1 --out {out}/old.jsonl"
    lines = [
        f"mount -t tmpfs none {out}",
        f"cp {inputs}/a.po {out}",
        f"{mtloop} {trace} > /dev/null 2>&1",
        f"mount -o remount,ro {out}",
        f"ls {out}",
    ]
    for name, command in COMMANDS.items():
        words = command.replace("IN/", f"{inputs}/").replace("OUT/", f"{out}/")
        lines += [f"echo '## {name}'", f"{mtloop} {words} < /dev/null 2>&1 > /dev/null; echo exit $?"]
    done = in_mount_namespace("\n".join([*lines, "echo '## end'", f"ls {out}"]))
    before, *parts, after = done.stdout.split("## ")
    assert done.stderr == ""
    for part in parts:
        name, *printed, code = part.splitlines()
        assert code == "exit 2", part
        assert len(printed) == 1, part
        assert "Read-only file system" in printed[0], part
        assert ".tmp" not in printed[0], f"{name}: names a file that the user does not know"
    assert after == f"end\n{before}"
