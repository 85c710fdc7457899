"""Teach a lesson, then translate its opposite: what `mtloop opposites` and `mtloop.opposites` do.

Every pair gets a new learner. It translates the opposite, learns the lesson, and translates lesson and opposite again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from mtloop.core.atomic import write_text
from mtloop.core.closing import closing
from mtloop.core.errors import InputError
from mtloop.core.names import list_names
from mtloop.core.protocols import Learner
from mtloop.core.ranges import check_at_least
from mtloop.core.types import JSON, PostEdit, Segment
from mtloop.data.languages import pair_name, same_languages
from mtloop.experiments.method_settings import (
    GivenSettings,
    assign_settings,
    find_methods,
    pairs_of,
    recorded_settings,
)
from mtloop.experiments.opposite_pairs import PACKAGED, PACKAGED_LANGUAGES, OppositePair, read_pairs
from mtloop.experiments.opposites_result import OppositeAnswer, OppositesResult
from mtloop.experiments.runners import Runner, make_runner, run_jobs
from mtloop.methods.compatibility import check_feedback, check_without_references
from mtloop.methods.defaults import OPPOSITES_METHODS
from mtloop.methods.learner_config import LearnerConfig
from mtloop.report.provenance import short_names
from mtloop.report.result_file import DataFile, Origin


def opposites(
    data: str | Path | None = None,
    methods: str | Sequence[str] = OPPOSITES_METHODS,
    *,
    part: str | None = None,
    out: str | Path | None = None,
    settings: GivenSettings = (),
    model: str = "",
    source_lang: str | None = None,
    target_lang: str | None = None,
    threads: int = 1,
    jobs: int = 2,
    runner: Runner | None = None,
) -> OppositesResult:
    """Teach a lesson and translate its opposite, before and after: is the lesson known, and does it harm the opposite?

    Args:
        data: A table of your own pairs (default: the English-German pairs of the package).
        methods: Names of methods, as a list or as text with commas.
        part: Only the pairs of this part, such as `development` or `report` (None: all).
        out: The folder for `opposites.jsonl`, which gets a line for each pair and method (None: no file).
        settings: Settings of all methods that have them. The name `METHOD:SETTING` applies to one method.
        model: The embedded `en-de`, a folder, or a Hugging Face name.
        source_lang: Source language of your own pairs.
        target_lang: Target language of your own pairs.
        threads: Number of CPU threads per method.
        jobs: Number of methods that run in parallel.
        runner: How the runs are made, instead of `jobs` child processes.
    """
    check_at_least(1, threads=threads)
    configs = make_configs(methods, pairs_of(settings), model, threads)
    languages = languages_of(data, source_lang, target_lang)
    check_models(languages, configs)
    path = PACKAGED if data is None else Path(data)
    pairs = read_pairs(path, part)
    origin = Origin("opposites", [DataFile.read(path, len(pairs), {"part": part})], seed=seeds_of(configs))
    with TemporaryDirectory(prefix="mtloop-") as folder:
        runs = [OppositesJob(tuple(pairs), one, Path(folder) / f"{one.method.file_name}.json") for one in configs]
        run_jobs(runs, runner or make_runner(jobs))
        read = {job.config.method.name: job.read() for job in runs}
    recorded = {method: used for method, (used, _) in read.items()}
    answers = {method: found for method, (_, found) in read.items()}
    result = OppositesResult(answers, replace(origin, settings=recorded))
    if out is not None:
        result.write(out)
    return result


def make_configs(
    methods: str | Sequence[str], settings: GivenSettings, model: str, threads: int
) -> list[LearnerConfig]:
    """Return the methods with their settings. Raise InputError for one that cannot learn from post-edits."""
    found = list({one.name: one for one in find_methods(list_names(methods, "method"), settings)}.values())
    given = assign_settings(found, settings)
    for method in found:
        check_without_references(method)
        check_feedback(method.name, method.learns_from or (), PostEdit)
    if model and not any(method.engine.loads_model for method in found):
        raise InputError("none of the methods uses a model; leave out --model")
    models = {method.name: model if method.engine.loads_model else "" for method in found}
    return [LearnerConfig.create(one.name, models[one.name], given[one.name], threads) for one in found]


def languages_of(data: str | Path | None, source: str | None, target: str | None) -> tuple[str, str]:
    """Return the languages of the pairs; "" if unknown."""
    if data is None and (source or target):
        raise InputError("--source-lang and --target-lang describe your own pairs; give these with --data FILE")
    return PACKAGED_LANGUAGES if data is None else (source or "", target or "")


def check_models(languages: tuple[str, str], configs: Iterable[LearnerConfig]) -> None:
    """Raise InputError if a model translates other languages than those of the pairs."""
    for config in configs:
        if not same_languages(languages, config.languages):
            both = f"the pairs are {pair_name(*languages)}, but the model translates {pair_name(*config.languages)}"
            raise InputError(f"{both}; give pairs in its languages with --data FILE, or another --model")


def seeds_of(configs: Iterable[LearnerConfig]) -> dict[str, int]:
    """Return the random seeds of the methods that have one."""
    found = {config.method.name: config.settings.get("seed") for config in configs}
    names = short_names(found)
    return {names[method]: seed for method, seed in found.items() if isinstance(seed, int)}


def ask(learner: Learner, pair: OppositePair) -> OppositeAnswer:
    """Translate the opposite, teach the lesson, and translate both again."""
    lesson, opposite = Segment("lesson", pair.lesson_source), Segment("opposite", pair.opposite_source)
    before, proposal = learner.propose(opposite).text, learner.propose(lesson)
    learned = learner.learn(proposal, PostEdit(pair.lesson_target))
    taught, after = learner.propose(lesson).text, learner.propose(opposite).text
    return OppositeAnswer(pair, before, after, proposal.text, taught, learned.rejected)


@dataclass(frozen=True)
class OppositesJob:
    """Ask a new learner about each pair, and write its answers to the file `out`. The model is loaded once."""

    kind: ClassVar[str] = "opposites"
    pairs: tuple[OppositePair, ...]
    config: LearnerConfig
    out: Path

    @property
    def name(self) -> str:
        return f"method {self.config.method.name}"

    @property
    def done(self) -> bool:
        return False

    def run(self) -> None:
        from tqdm import tqdm

        config, method, answers = self.config, self.config.method.name, []
        model = config.load()
        for pair in tqdm(self.pairs, desc=method, unit="pair", disable=None):
            learner = config.make(model, PostEdit)
            with closing(learner):
                answers.append(asdict(ask(learner, pair)))
        settings = recorded_settings({method: config.header(model, {})})[method]
        write_text(self.out, json.dumps({"settings": settings, "answers": answers}))

    def read(self) -> tuple[JSON, list[OppositeAnswer]]:
        """Return the model and the settings of the learner, and its answers."""
        content = json.loads(self.out.read_text(encoding="utf-8"))
        answers = [OppositeAnswer(**one | {"pair": OppositePair(**one["pair"])}) for one in content["answers"]]
        return content["settings"], answers

    def to_json(self) -> dict[str, JSON]:
        pairs: list[JSON] = [asdict(pair) for pair in self.pairs]
        return {"pairs": pairs, "config": self.config.to_json(), "out": str(self.out)}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> OppositesJob:
        pairs = tuple(OppositePair(**one) for one in fields["pairs"])
        return cls(pairs, LearnerConfig.create(**fields["config"]), Path(fields["out"]))
