"""Small files to fill in, and an engine whose translations show what it learned."""

from __future__ import annotations

from pathlib import Path

from mtloop.data.formats.filling import UnitState, open_file
from mtloop.translation.fill_files import EngineChoice

HEADER = 'msgid ""\nmsgstr ""\n"Language: {}\\n"\n"Content-Type: text/plain; charset={}\\n"\n'

# It writes the words of the source backwards, with the number of its lessons and a hash of them.
ENGINE = '''
import hashlib

from mtloop.core import Learned, PostEdit, Proposal


class Backwards:
    """Shows its lessons in every translation; can be saved."""

    learns_from = (PostEdit,)

    def __init__(self):
        self.lessons_, self.state_ = 0, "0"

    def propose(self, segment):
        return Proposal(segment, f"{' '.join(reversed(segment.source.split()))} {self.lessons_}{self.state_}")

    def learn(self, proposal, feedback):
        self.lessons_ += 1
        lesson = f"{self.state_} {proposal.segment.source} {feedback.text}"
        self.state_ = hashlib.sha256(lesson.encode()).hexdigest()[:6]
        return Learned(updates=1, rejected="length" if "too long" in feedback.text else None)

    def save(self, folder):
        (folder / "state.txt").write_text(f"{self.lessons_} {self.state_}")

    def load(self, folder):
        lessons, self.state_ = (folder / "state.txt").read_text().split()
        self.lessons_ = int(lessons)


class Unsaved(Backwards):
    """The same; cannot be saved."""

    save = load = None
'''


def po(*messages: tuple[str, str] | str, language: str = "de", charset: str = "UTF-8") -> str:
    """Return a PO file. A message is a source and its translation; a string is written as it is."""
    rows = (one if isinstance(one, str) else f'\nmsgid "{one[0]}"\nmsgstr "{one[1]}"\n' for one in messages)
    return HEADER.format(language, charset) + "".join(rows)


def fuzzy(source: str, target: str) -> str:
    """Return a message of a PO file that is marked for review."""
    return f'\n#, fuzzy\nmsgid "{source}"\nmsgstr "{target}"\n'


def write_engine(folder: Path, name: str = "Backwards") -> EngineChoice:
    """Write the engine to a folder; return the choice of it."""
    path = folder / "engine.py"
    path.write_text(ENGINE)
    return EngineChoice(method=f"{path}:{name}", threads=1)


def targets(path: Path) -> dict[str, tuple[str, str]]:
    """Return the target and the state of each unit of a file, by its source."""
    units = open_file(path).units
    return {unit.source: (unit.target, str(unit.state)) for unit in units if unit.state is not UnitState.LOCKED}
