"""Engines that a user could write: those of own-engine.md, one without save, one for rewards, and faulty ones."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/how-to/own-engine.md"

# Its translations show all lessons so far and their order. It sleeps if the file `slow` exists.
COUNTING_CLASS = '''
import hashlib, time
from pathlib import Path

from mtloop.core import Learned, PostEdit, Proposal


class Counting:
    """Shows its lessons in every translation; cannot be saved."""

    learns_from = (PostEdit,)

    def __init__(self, *, mark: str = "!"):
        self.mark, self.state_ = mark, ""

    def propose(self, segment):
        time.sleep(0.05 * Path("slow").exists())
        return Proposal(segment, f"{segment.source} {self.state_}{self.mark}", memo={"state": self.state_})

    def learn(self, proposal, feedback):
        lesson = f"{self.state_} {proposal.text} {dict(proposal.memo)} {feedback}"
        self.state_ = hashlib.sha256(lesson.encode()).hexdigest()[:12]
        return Learned(updates=1)


class Saving(Counting):
    """Shows its lessons in every translation; can be saved."""

    def save(self, folder):
        (folder / "state.txt").write_text(self.state_)

    def load(self, folder):
        self.state_ = (folder / "state.txt").read_text()
'''

# The same as a program. Words of its command: `saves`; `reward` (learns from rewards); `fault:REQUEST:KIND`, where a
# kind that is a JSON object is an answer, to which the number of the request is added.
COUNTING_PROGRAM = """
import hashlib, json, os, sys, time
from pathlib import Path

state, settings = "", {"mark": "!", "size": 1}


def hello(request):
    settings.update(request["settings"])
    kind = "reward" if "reward" in sys.argv else "post_edit"
    return {"protocol": 1, "name": "count", "learns_from": [kind], "saves": "saves" in sys.argv, "settings": settings}


def propose(request):
    time.sleep(0.05 * Path("slow").exists())
    text = f"{request['source']} {state}{settings['mark'] * settings['size']}"
    return {"text": text, "memo": {"state": state}, "probability": 0.5}


def learn(request):
    global state
    lesson = f"{state} {request['text']} {request['memo']} {request['feedback']}"
    state = hashlib.sha256(lesson.encode()).hexdigest()[:12]
    return {"updates": 1}


def save(request):
    Path(request["folder"], "state.txt").write_text(state)
    return {}


def load(request):
    global state
    path = Path(request["folder"], "state.txt")
    if not path.exists():
        return {"error": "no state.txt"}
    state = path.read_text()
    return {}


def fail(kind):
    match kind:
        case "die":
            print("one", "two", "three", "out of memory", sep="\\n", file=sys.stderr, flush=True)
            os._exit(3)
        case "hang":
            print("thinking", file=sys.stderr, flush=True)
            time.sleep(600)
        case "close":
            os.close(1)
            time.sleep(600)
        case "bytes":
            os.write(1, b'{"text": "\\xff"}\\n')
        case "long":
            os.write(1, b"x" * 2000 + b"\\n")
        case _:
            print(kind.replace("{", f'{{"n": {request["n"]}, ', 1), flush=True)


faults = dict(word.split(":", 2)[1:] for word in sys.argv if word.startswith("fault:"))
for line in sys.stdin:
    request = json.loads(line)
    answer = globals()[request["do"]](request)
    at = request["do"] if not Path("repaired").exists() and request.get("id", "3") == "3" else ""
    if at in faults:
        fail(faults[at])
    if at not in faults or faults[at].startswith("debug"):
        print(json.dumps({"n": request["n"], **answer}), flush=True)
"""


def write_page_engines(folder: Path) -> None:
    """Write the files whose names stand in the first line of the Python blocks of docs/how-to/own-engine.md."""
    for name, code in re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        (folder / name).write_text(code, encoding="utf-8")


def page_commands() -> list[str]:
    """The commands of docs/how-to/own-engine.md."""
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


def program(folder: Path, *words: str, code: str = COUNTING_PROGRAM) -> str:
    """Write the program to the folder; return its command, with the absolute path of the file."""
    path = folder / "count.py"
    path.write_text(code, encoding="utf-8")
    return shlex.join([sys.executable, str(path), *words])
