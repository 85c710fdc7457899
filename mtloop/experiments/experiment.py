"""One run: data, model, method and learning schedule. The header of the trace and a TOML file hold the same fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge

from mtloop.core.errors import InputError
from mtloop.core.loop import Blocks, Delay, Each, Schedule
from mtloop.core.protocols import Learner
from mtloop.core.trace import Header
from mtloop.core.types import JSON, PostEdit, Segment, Truth
from mtloop.data import Corpus, check_corpus, parse_columns, read, subset
from mtloop.methods.compatibility import check_without_references
from mtloop.methods.defaults import DEFAULT_METHOD
from mtloop.methods.engines import Model
from mtloop.methods.learner_config import LearnerConfig
from mtloop.methods.neural import canonical_name
from mtloop.methods.own import refuse_engine_from_file
from mtloop.methods.registry import check_method_name
from mtloop.nmt.delta_files import find_delta, read_delta
from mtloop.text.settings_files import check_settings, read_toml

SELECTION = ("columns", "skip", "limit", "shuffle", "distinct")  # the fields that select segments
LANGUAGES = ("source_lang", "target_lang")
TYPES = {"beam_size": Annotated[int, Ge(1)], "settings": dict[str, Any]}  # in files and arguments, not fields


@dataclass(frozen=True)
class Experiment:
    """All settings of a run.

    `schedule` is `each`, `delay:K` or `blocks:WORDS` (`blocks:WORDS:unfair` learns a block before translating it).
    An empty model or schedule means the default of the method's engine. `delta` is the path of a saved adaptation from
    which the run starts (empty: the base model). `preset` is the year of a paper whose settings apply below the given
    `settings` (empty: none). `source_lang` and `target_lang` select languages of the data.

    These fields select segments, in this order. `shuffle`: random seed (0: keep the order). `skip`: number of segments
    to leave out at the start. `distinct`: leave out segments with a source seen before. `limit`: number of segments
    (0: all).
    """

    data: str
    method: str = DEFAULT_METHOD
    model: str = ""
    columns: str = ""
    source_lang: str = ""
    target_lang: str = ""
    skip: Annotated[int, Ge(0)] = 0
    limit: Annotated[int, Ge(0)] = 0
    shuffle: int = 0
    distinct: bool = False
    schedule: str = ""
    threads: Annotated[int, Ge(1)] = 1
    delta: str = ""
    preset: str = ""
    settings: Mapping[str, JSON] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "method", canonical_name(self.method))

    @classmethod
    def create(
        cls,
        data: str | Path | None = None,
        *,
        config: str | Path | None = None,
        lang: str | None = None,
        settings: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> Experiment:
        """Return an experiment. Arguments take precedence over the TOML file `config`; None means: not given.

        `lang` is a short name of `target_lang`; `beam_size` is a setting of all neural methods.
        """
        table = cls.read_fields(Path(config)) if config else {}
        if (method := fields.get("method")) is not None:
            check_method_name(method)
        given = {"data": data, "target_lang": lang, **fields, "settings": settings}
        given = check_settings(cls, {name: value for name, value in given.items() if value is not None}, types=TYPES)
        merged = _take_settings(table, "beam_size =") | _take_settings(given, "--beam-size")
        table |= given
        if table.get("delta"):
            table |= _start_from(Path(table["delta"]), table.get("method"))
        if "data" not in table:
            raise InputError('no data given: use --data FILE, or data = "FILE" in the TOML file')
        return cls(**table | {"data": str(table["data"]), "settings": merged}).check()

    @classmethod
    def read_fields(cls, path: Path) -> dict[str, Any]:
        """Return the fields in a TOML file; its table `[settings]` holds the settings of the method."""
        return check_settings(cls, read_toml(path), path=path, types=TYPES)

    def check(self) -> Experiment:
        """Return the experiment; raise InputError if a name, a setting or the schedule is wrong."""
        _ = self.learner_config
        self.make_schedule()
        check_without_references(self.learner_config.method)
        return self

    @cached_property
    def learner_config(self) -> LearnerConfig:
        """The method with its model and settings."""
        return LearnerConfig.create(self.method, self.model, self.settings, self.threads, self.delta, self.preset)

    def load(self) -> Model | None:
        """Load the model; None if the method uses none. Wrong names and settings raise before the model is read."""
        return self.learner_config.load()

    def learner(self, model: Model | None) -> Learner:
        """A new learner with this model, with `delta` applied."""
        return self.learner_config.make(model, PostEdit)

    def header(self, model: Model | None) -> Header:
        """The header of the trace: all that is needed to repeat the run."""
        config = self.selection
        config |= {name: value for name in LANGUAGES if (value := getattr(self, name))}
        config |= {"data": Path(self.data).name, "schedule": self.learner_config.method.schedule(self.schedule)}
        return self.learner_config.header(model, config, seed=self.shuffle)

    @property
    def selection(self) -> dict[str, JSON]:
        """Which segments of the data are used, by the names of the fields."""
        return {name: getattr(self, name) for name in SELECTION}

    @cached_property
    def corpus(self) -> Corpus:
        """All segments of the data; read once."""
        languages = {name: getattr(self, name) or None for name in LANGUAGES}
        return read(Path(self.data), columns=parse_columns(self.columns), **languages)

    def check_data(self) -> None:
        """Read the data and say what its reader skipped. Raise InputError if the data does not fit the model."""
        check_corpus(self.corpus, [self.learner_config.languages])
        self.stream()

    @property
    def language(self) -> str | None:
        """The target language, for scores: the given one, that of the data, or that of the model; None: unknown."""
        return self.target_lang or self.corpus.target_lang or self.learner_config.languages[1] or None

    def stream(self) -> list[tuple[Segment, Truth]]:
        """The segments of the data after `shuffle`, `skip`, `distinct` and `limit`, in this order."""
        stream = subset(self.corpus, shuffle=self.shuffle, skip=self.skip, distinct=self.distinct, limit=self.limit)
        if not stream:
            after = f" after the first {self.skip}" if self.skip else ""
            raise InputError(f"contains no segments{after}", path=self.data)
        return stream

    def make_schedule(self) -> Schedule:
        """The learning schedule; raise InputError if its text is wrong."""
        match self.learner_config.method.schedule(self.schedule).split(":"):
            case ["each"]:
                return Each()
            case ["delay", k] if k.isdigit():
                return Delay(int(k))
            case ["blocks", words] if words.isdigit():
                return Blocks(int(words))
            case ["blocks", words, "unfair"] if words.isdigit():
                return Blocks(int(words), unfair=True)
        raise InputError(f"schedule {self.schedule!r}: expected each, delay:K, blocks:WORDS or blocks:WORDS:unfair")

    def to_json(self) -> dict[str, JSON]:
        """All fields as plain JSON; `Experiment(**fields)` restores them."""
        return asdict(self) | {"settings": dict(self.settings)}


def _start_from(delta: Path, method: str | None) -> dict[str, Any]:
    """Return the file of a delta, and its method if none is given."""
    found = find_delta(delta)
    named = method or refuse_engine_from_file(read_delta(found).method, found)
    return {"delta": str(found), "method": named}


def _take_settings(table: dict[str, Any], option: str) -> dict[str, Any]:
    """Remove the settings and the beam size from a table, and return them together."""
    beam_size, settings = table.pop("beam_size", None), table.pop("settings", {})
    if beam_size and str(settings.get("beam_size", beam_size)) != str(beam_size):
        raise InputError(f"{option} {beam_size} contradicts the setting beam_size = {settings['beam_size']}; give one")
    return dict(settings) | ({"beam_size": beam_size} if beam_size else {})
