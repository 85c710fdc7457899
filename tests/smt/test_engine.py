from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from helpers.tiny_smt import NEW, known_pairs

from mtloop.core.errors import InputError, UnknownName
from mtloop.smt.engine import FEATURES, UNTUNED_WEIGHTS, Thot
from mtloop.smt.training import SmtJob
from mtloop.smt.tuner import tune


def quiet(text: str) -> None:
    pass


def test_translates_training_sentences(engine: Thot) -> None:
    pairs = known_pairs()
    right = sum(engine.translate(source) == target for source, target in pairs)
    assert right >= 0.9 * len(pairs)


def test_learning_a_pair_changes_related_translations(engine: Thot) -> None:
    (source, target), *others = NEW
    assert "Werkzeugleiste" not in engine.translate(source)
    assert engine.learn(source, target)
    assert engine.translate(source) == target
    assert all("Werkzeugleiste" in engine.translate(other) for other, _ in others)


def test_learning_a_pair_keeps_other_translations(engine: Thot) -> None:
    before = [engine.translate(source) for source, _ in known_pairs()]
    engine.learn(*NEW[0])
    after = [engine.translate(source) for source, _ in known_pairs()]
    assert sum(one == other for one, other in zip(before, after, strict=True)) >= 0.9 * len(before)


def test_nbest_features_sum_to_the_score(engine: Thot) -> None:
    tokens = engine.tokeniser.tokenise_source("Open the file on the left.")
    candidates = engine.decode(tokens, 10)
    for candidate in candidates:
        total = sum(engine.weights[name] * value for name, value in candidate.features.items())
        assert total == pytest.approx(candidate.score, rel=1e-4)
    scores = [candidate.score for candidate in candidates]
    assert scores == sorted(scores, reverse=True)
    texts = engine.nbest("Open the file on the left.", 10)
    assert texts[0][0] == engine.translate("Open the file on the left.")
    assert len({text for text, _ in texts}) == len(texts)
    assert tuple(texts[0][1]) == FEATURES


def test_phrases_cover_source_and_target(engine: Thot) -> None:
    tokens = engine.tokeniser.tokenise_source("Open the file on the left.")
    best = engine.decode(tokens, 2)[0]
    covered = sorted(index for (start, end), _ in best.phrases for index in range(start, end))
    assert covered == list(range(len(tokens)))
    assert best.phrases[-1][1][1] == len(best.words)


def test_weights_can_be_read_and_set(engine: Thot) -> None:
    weights = engine.weights | {"language_model": 0.25, "jump": 0.0}
    engine.weights = weights
    assert engine.weights["language_model"] == 0.25
    assert engine.weights["jump"] != 0  # with weight 0 its feature value would be lost
    total = engine.decode(engine.tokeniser.tokenise_source("Save the page."), 2)[0]
    assert sum(engine.weights[n] * v for n, v in total.features.items()) == pytest.approx(total.score, rel=1e-4)
    with pytest.raises(UnknownName, match="language_model"):
        engine.weights = weights | {"languagemodel": 1.0}
    with pytest.raises(InputError, match="no weight for feature jump"):
        engine.weights = {name: 1.0 for name in FEATURES if name != "jump"}


def test_weights_change_the_translation(engine: Thot) -> None:
    """A bonus for words makes translations longer, a penalty makes them shorter."""
    source = "Print the picture on the left."
    lengths = []
    for weight in (-30.0, 30.0):
        engine.weights = UNTUNED_WEIGHTS | {"word_penalty": weight}
        lengths.append(len(engine.translate(source).split()))
    assert lengths[0] > lengths[1]


def test_tuning_improves_bad_weights(engine: Thot) -> None:
    engine.weights = UNTUNED_WEIGHTS | {"word_penalty": -30.0, "language_model": 0.001}
    tuned = tune(engine, known_pairs()[::6], rounds=4, nbest_size=20)
    assert tuned.after > tuned.before + 1
    assert engine.weights == tuned.weights


def test_saved_model_keeps_learned_pairs(engine: Thot, tmp_path: Path) -> None:
    engine.learn(*NEW[0])
    engine.save(tmp_path / "saved")
    loaded = Thot.load(tmp_path / "saved")
    assert all(loaded.translate(source) == engine.translate(source) for source, _ in [*NEW, *known_pairs()])
    assert loaded.weights == engine.weights
    assert loaded.fingerprint != engine.fingerprint


def test_threads_share_one_engine(engine: Thot) -> None:
    expected = [engine.translate(source) for source, _ in known_pairs()]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(engine.translate, [source for source, _ in known_pairs()]))
        learned = list(pool.map(lambda pair: engine.learn(*pair), NEW))
    assert found == expected
    assert all(learned)


ODD = ["", "   ", "\x00\x01", "☃ 漢字 \U0001f600 ￭ ||| NULL <s> <unk>", "¿", "NULL", "́", "\ud800"]


@pytest.mark.parametrize("text", ODD)
def test_unusual_input_is_handled_without_error(engine: Thot, text: str) -> None:
    output = engine.translate(text)
    assert bool(output) == bool(output.strip())
    engine.learn(text, "Datei")
    engine.learn("file", text)
    assert engine.translate("Open the file.").startswith("Öffnen")


def test_unknown_characters_are_copied(engine: Thot) -> None:
    assert engine.translate("☃ 漢字 ||| NULL <s>") == "☃ 漢字 ||| NULL <s>"


def test_a_sentence_of_500_words(engine: Thot) -> None:
    output = engine.translate("Open the file, save the page now. " * 71 + "Open.")
    assert output.count("Datei") == 71
    assert not engine.learn("file " * 500, "Datei " * 500)
    assert engine.nbest("file " * 500, 3)


def test_one_pair_is_enough_to_train(tmp_path: Path) -> None:
    job = SmtJob(pairs=[("Open the file.", "Öffnen Sie die Datei.")], out=tmp_path / "one", log=quiet)
    job.run()
    assert Thot.load(tmp_path / "one").translate("Open the file.") == "Öffnen Sie die Datei."


def test_empty_and_long_pairs_are_left_out(tmp_path: Path) -> None:
    lines: list[str] = []
    odd = [("", "leer"), ("file", ""), ("word " * 500, "Wort " * 500)]
    SmtJob(pairs=[*odd, *known_pairs()], out=tmp_path / "m", log=lines.append).run()
    assert lines[0] == "64 pairs, 3 left out (empty, or over 60 words)"
    with pytest.raises(InputError, match="nothing to train on: 3 pairs"):
        SmtJob(pairs=odd, out=tmp_path / "n", log=quiet).run()
    assert not (tmp_path / "n").exists()


def test_an_existing_model_is_not_overwritten(smt_folder: Path) -> None:
    with pytest.raises(InputError, match="already exists"):
        SmtJob(pairs=known_pairs(), out=smt_folder, log=quiet).run()


KILLED = """
import os, signal, sys
from pathlib import Path
from helpers.tiny_smt import known_pairs
from mtloop.smt.training import SmtJob

def log(text):
    if text.startswith(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

SmtJob(pairs=known_pairs(), out=Path(sys.argv[1]), valid=known_pairs()[:4], log=log).run()
"""


@pytest.mark.parametrize("moment", ["64 pairs", "tm_swm: HMM", "phrases", "tuning", "trained"])
def test_an_interrupted_training_leaves_no_model_and_the_next_starts_clean(tmp_path: Path, moment: str) -> None:
    out = tmp_path / "model"
    paths = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": paths}
    killed = subprocess.run([sys.executable, "-c", KILLED, str(out), moment], env=environment)
    assert killed.returncode == -signal.SIGKILL
    with pytest.raises(InputError, match="mtloop train --engine smt"):
        Thot.load(out)
    SmtJob(pairs=known_pairs(), out=out, log=quiet).run()
    assert Thot.load(out).translate("Open the file.") == "Öffnen Sie die Datei."
    assert not list(tmp_path.glob("*.unfinished"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / "smt.json").unlink(), "smt.json is missing"),
        (lambda folder: (folder / "smt.json").write_text("{"), "not a model card"),
        (lambda folder: (folder / "smt.json").write_text("[]"), "has format None"),
        (lambda folder: (folder / "smt.json").write_text('{"format": 1}'), "not a model card"),
        (lambda folder: (folder / "tm.ttable").write_text("half"), "tm.ttable: missing, or its size differs"),
        (lambda folder: (folder / "lm").unlink(), "lm: missing, or its size differs"),
    ],
)
def test_an_incomplete_folder_does_not_load(smt_folder: Path, tmp_path: Path, change, message: str) -> None:  # type: ignore[no-untyped-def]
    folder = tmp_path / "copy"
    folder.mkdir()
    for path in smt_folder.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    change(folder)
    with pytest.raises(InputError, match=message):
        Thot.load(folder)


def test_another_format_version_is_an_error(smt_folder: Path, tmp_path: Path) -> None:
    card = json.loads((smt_folder / "smt.json").read_text())
    (tmp_path / "smt.json").write_text(json.dumps(card | {"format": 99}))
    with pytest.raises(InputError, match="has format 99, but this version reads format 1"):
        Thot.load(tmp_path)
