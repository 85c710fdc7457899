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
from mtloop.smt.engine import FEATURES, UNTUNED, Thot
from mtloop.smt.training import SmtJob
from mtloop.smt.tuner import tune


def quiet(text: str) -> None:
    pass


def test_it_translates_what_it_was_trained_on(engine: Thot) -> None:
    pairs = known_pairs()
    right = sum(engine.translate(source) == target for source, target in pairs)
    assert right >= 0.9 * len(pairs)


def test_before_teach_after(engine: Thot) -> None:
    (source, target), *others = NEW
    assert "Werkzeugleiste" not in engine.translate(source)
    assert engine.learn(source, target)
    assert engine.translate(source) == target
    assert all("Werkzeugleiste" in engine.translate(other) for other, _ in others)


def test_what_it_knew_it_still_knows(engine: Thot) -> None:
    before = [engine.translate(source) for source, _ in known_pairs()]
    engine.learn(*NEW[0])
    after = [engine.translate(source) for source, _ in known_pairs()]
    assert sum(one == other for one, other in zip(before, after, strict=True)) >= 0.9 * len(before)


def test_the_nbest_list_has_the_features_that_make_its_scores(engine: Thot) -> None:
    tokens = engine.words.read("Open the file on the left.")
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
    tokens = engine.words.read("Open the file on the left.")
    best = engine.decode(tokens, 2)[0]
    covered = sorted(place for (start, end), _ in best.phrases for place in range(start, end))
    assert covered == list(range(len(tokens)))
    assert best.phrases[-1][1][1] == len(best.words)


def test_weights_are_read_and_set(engine: Thot) -> None:
    weights = engine.weights | {"language_model": 0.25, "jump": 0.0}
    engine.weights = weights
    assert engine.weights["language_model"] == 0.25
    assert engine.weights["jump"] != 0  # else its feature could not be read
    total = engine.decode(engine.words.read("Save the page."), 2)[0]
    assert sum(engine.weights[n] * v for n, v in total.features.items()) == pytest.approx(total.score, rel=1e-4)
    with pytest.raises(UnknownName, match="language_model"):
        engine.weights = weights | {"languagemodel": 1.0}
    with pytest.raises(InputError, match="no weight for feature jump"):
        engine.weights = {name: 1.0 for name in FEATURES if name != "jump"}


def test_weights_decide(engine: Thot) -> None:
    """A reward for words makes translations longer, a fine shorter."""
    source = "Print the picture on the left."
    lengths = []
    for weight in (-30.0, 30.0):
        engine.weights = UNTUNED | {"word_penalty": weight}
        lengths.append(len(engine.translate(source).split()))
    assert lengths[0] > lengths[1]


def test_tuning_mends_bad_weights(engine: Thot) -> None:
    engine.weights = UNTUNED | {"word_penalty": -30.0, "language_model": 0.001}
    tuned = tune(engine, known_pairs()[::6], rounds=4, size=20)
    assert tuned.after > tuned.before + 1
    assert engine.weights == tuned.weights


def test_saved_and_loaded_it_has_learned(engine: Thot, tmp_path: Path) -> None:
    engine.learn(*NEW[0])
    engine.save(tmp_path / "saved")
    again = Thot.load(tmp_path / "saved")
    assert all(again.translate(source) == engine.translate(source) for source, _ in [*NEW, *known_pairs()])
    assert again.weights == engine.weights
    assert again.fingerprint != engine.fingerprint


def test_threads_take_turns(engine: Thot) -> None:
    alone = [engine.translate(source) for source, _ in known_pairs()]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(engine.translate, [source for source, _ in known_pairs()]))
        lessons = list(pool.map(lambda pair: engine.learn(*pair), NEW))
    assert together == alone
    assert all(lessons)


ODD = ["", "   ", "\x00\x01", "☃ 漢字 \U0001f600 ￭ ||| NULL <s> <unk>", "¿", "NULL", "́", "\ud800"]


@pytest.mark.parametrize("text", ODD)
def test_whatever_comes_it_answers_in_words(engine: Thot, text: str) -> None:
    said = engine.translate(text)
    assert bool(said) == bool(said.strip())
    engine.learn(text, "Datei")
    engine.learn("file", text)
    assert engine.translate("Open the file.").startswith("Öffnen")


def test_signs_it_does_not_know_are_copied_as_they_stand(engine: Thot) -> None:
    assert engine.translate("☃ 漢字 ||| NULL <s>") == "☃ 漢字 ||| NULL <s>"


def test_a_sentence_of_500_words(engine: Thot) -> None:
    said = engine.translate("Open the file, save the page now. " * 71 + "Open.")
    assert said.count("Datei") == 71
    assert not engine.learn("file " * 500, "Datei " * 500)
    assert engine.nbest("file " * 500, 3)


def test_one_pair_is_enough_to_train(tmp_path: Path) -> None:
    job = SmtJob(pairs=[("Open the file.", "Öffnen Sie die Datei.")], out=tmp_path / "one", say=quiet)
    job.run()
    assert Thot.load(tmp_path / "one").translate("Open the file.") == "Öffnen Sie die Datei."


def test_lines_that_say_nothing_are_left_out(tmp_path: Path) -> None:
    said: list[str] = []
    odd = [("", "leer"), ("file", ""), ("word " * 500, "Wort " * 500)]
    SmtJob(pairs=[*odd, *known_pairs()], out=tmp_path / "m", say=said.append).run()
    assert said[0] == "64 pairs, 3 left out (empty, or over 60 words)"
    with pytest.raises(InputError, match="nothing to train on: 3 pairs"):
        SmtJob(pairs=odd, out=tmp_path / "n", say=quiet).run()
    assert not (tmp_path / "n").exists()


def test_a_model_that_is_there_is_not_overwritten(smt_folder: Path) -> None:
    with pytest.raises(InputError, match="there already"):
        SmtJob(pairs=known_pairs(), out=smt_folder, say=quiet).run()


KILLED = """
import os, signal, sys
from pathlib import Path
from helpers.tiny_smt import known_pairs
from mtloop.smt.training import SmtJob

def say(text):
    if text.startswith(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

SmtJob(pairs=known_pairs(), out=Path(sys.argv[1]), valid=known_pairs()[:4], say=say).run()
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
    SmtJob(pairs=known_pairs(), out=out, say=quiet).run()
    assert Thot.load(out).translate("Open the file.") == "Öffnen Sie die Datei."
    assert not list(tmp_path.glob("*.unfinished"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda folder: (folder / "smt.json").unlink(), "smt.json is missing"),
        (lambda folder: (folder / "smt.json").write_text("{"), "is no model card"),
        (lambda folder: (folder / "smt.json").write_text("[]"), "is of format None"),
        (lambda folder: (folder / "smt.json").write_text('{"format": 1}'), "is no model card"),
        (lambda folder: (folder / "tm.ttable").write_text("half"), "tm.ttable: is not the file"),
        (lambda folder: (folder / "lm").unlink(), "lm: is not the file"),
    ],
)
def test_a_folder_that_is_not_whole_does_not_load(smt_folder: Path, tmp_path: Path, change, says: str) -> None:  # type: ignore[no-untyped-def]
    folder = tmp_path / "copy"
    folder.mkdir()
    for path in smt_folder.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    change(folder)
    with pytest.raises(InputError, match=says):
        Thot.load(folder)


def test_a_folder_of_another_version_says_so(smt_folder: Path, tmp_path: Path) -> None:
    card = json.loads((smt_folder / "smt.json").read_text())
    (tmp_path / "smt.json").write_text(json.dumps(card | {"format": 99}))
    with pytest.raises(InputError, match="is of format 99, this version reads 1"):
        Thot.load(tmp_path)
