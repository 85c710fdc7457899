from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from helpers.tiny_marian import demo_pairs
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from transformers import MarianMTModel

from mtloop.checks.learner_contract import check_learner
from mtloop.core import InputError, Learned, PostEdit, Proposal, Reward, Segment
from mtloop.methods.registry import make_learner
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.decoding.memory import Memory, MemorySettings
from mtloop.nmt.delta import Delta
from mtloop.nmt.engine.lesson import forward_pass
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.piece_length import MAX_PIECE_TOKENS
from mtloop.nmt.scopes.bias import OutputBias
from mtloop.nmt.scopes.dense import Dense, all_names, hidden_names, top_names
from mtloop.nmt.scopes.lasso import Lasso
from mtloop.nmt.scopes.scope import MIN_NORM, Frozen, GradientClipping, Scope

PAIRS = demo_pairs()
SCOPES: dict[str, Callable[[Marian], Scope]] = {
    "baseline": Frozen,
    "bias": OutputBias,
    "full": lambda model: Dense(model, all_names(model.weights), learning_rate=0.05),
    "top": lambda model: Dense(model, top_names(model), learning_rate=0.05),
    "fixed": lambda model: Dense(model, frozenset(n for n in hidden_names(model.weights) if ".fc1." in n)),
    "lasso": lambda model: Lasso(model, hidden_budget=8_000, embedding_budget=32 * 50),
}


def learner(model: Marian, method: str) -> AdaptiveNMT:
    return AdaptiveNMT(SCOPES[method](model), method=method)


def teach(system: AdaptiveNMT, source: str, target: str) -> None:
    system.learn(Proposal(Segment("1", source), ""), PostEdit(target))


@pytest.mark.parametrize("method", SCOPES)
def test_learner_contract(small: Marian, method: str) -> None:
    segments = [Segment(str(i), source) for i, (source, _) in enumerate(PAIRS[:6])]
    targets = dict(PAIRS)
    check_learner(lambda: learner(small, method), segments, lambda p: PostEdit(targets[p.segment.source]))


def test_a_method_that_never_learns_reads_no_pair(small: Marian, monkeypatch: pytest.MonkeyPatch) -> None:
    system = make_learner("baseline", small)
    monkeypatch.setattr(Marian, "decode", None)
    learned = system.learn(Proposal(Segment("1", PAIRS[0][0]), ""), PostEdit(PAIRS[0][1]))
    assert learned == Learned()


def plain_updates(
    theirs: MarianMTModel, ids: list[int], wanted: list[int], rate: float, clip: GradientClipping, steps: int
) -> None:
    """A plain implementation: backward pass, clip every tensor, subtract."""
    for _ in range(steps):
        theirs.zero_grad()
        theirs(input_ids=torch.tensor([ids]), labels=torch.tensor([wanted])).loss.backward()
        with torch.no_grad():
            for parameter in theirs.parameters():
                if parameter.grad is not None:
                    norm = float(parameter.grad.norm())
                    size = rate / norm if norm > 1 or (clip == "scale" and norm > MIN_NORM) else rate
                    parameter.sub_(parameter.grad, alpha=size)


@pytest.mark.parametrize("clip", ["clip", "scale"])
def test_full_is_plain_sgd_step_by_step(
    tiny: tuple[Path, MarianMTModel], marian: Marian, clip: GradientClipping
) -> None:
    theirs = MarianMTModel.from_pretrained(tiny[0])
    scope = Dense(marian, all_names(marian.weights), learning_rate=0.05, gradient_clipping=clip)
    for source, target in PAIRS[:3]:
        ids, wanted = marian.source.encode(source), marian.target.encode(target)
        plain_updates(theirs, ids, wanted, 0.05, clip, steps=2)
        for _ in range(2):
            scope.update(forward_pass(scope.model, ids, wanted, scope.names))
        scope.commit()
        for name, parameter in theirs.named_parameters():
            if "position" not in name:
                ours = scope.model.weights["model.encoder.embed_tokens.weight" if "shared" in name else name]
                torch.testing.assert_close(ours, parameter.detach(), atol=2e-4, rtol=1e-3)


@pytest.mark.parametrize("method", ["bias", "full", "top", "lasso"])
def test_the_loss_of_a_learned_pair_decreases(small: Marian, method: str) -> None:
    system = learner(small, method)
    source, target = PAIRS[7]
    ids, wanted = small.source.encode(source), small.target.encode(target)
    before = forward_pass(small, ids, wanted, frozenset()).loss
    for _ in range(3):
        teach(system, source, target)
    after = forward_pass(system.model, ids, wanted, frozenset(), system.scope.extra_bias).loss
    assert after < before


def test_full_translates_as_corrected_the_next_time(small: Marian) -> None:
    system = AdaptiveNMT(
        Dense(small, all_names(small.weights), learning_rate=0.1), max_updates=60, target_perplexity=1.05
    )
    source, target = "Open the pane.", "Öffnen Sie den Bereich."
    assert system.propose(Segment("1", source)).text != target
    teach(system, source, target)
    assert system.propose(Segment("1", source)).text == target


def test_the_base_is_shared_and_never_written(small: Marian) -> None:
    before = small.weights.fingerprint
    for method in SCOPES:
        teach(learner(small, method), *PAIRS[5])
    fresh = Marian(small.shape, small.source, small.target, small.weights.copy([]))
    assert fresh.weights.fingerprint == before


def test_updates_stop_at_the_target_perplexity(small: Marian) -> None:
    system = AdaptiveNMT(
        Dense(small, all_names(small.weights), learning_rate=0.1), max_updates=500, target_perplexity=2.0
    )
    lesson = Proposal(Segment("1", "Backups"), "")
    first = system.learn(lesson, PostEdit("Sicherungen"))
    assert 0 < first.updates < 500
    assert system.learn(lesson, PostEdit("Sicherungen")).updates == 0


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("", "x", "empty"),
        ("Save", "  ", "empty"),
        ("please save all of the files", "please save all of the files", "copied"),
        ("Save", "Speichern " * 10, "length"),
        ("word " * 300, "Wort " * 300, "too long"),
    ],
)
@pytest.mark.parametrize("method", ["full", "lasso", "bias"])
def test_a_rejected_pair_leaves_the_model_unchanged(
    small: Marian, method: str, source: str, target: str, reason: str
) -> None:
    system = learner(small, method)
    teach(system, *PAIRS[2])
    before = {name: tensor.clone() for name, tensor in system.scope.tensors().items()}
    learned = system.learn(Proposal(Segment("1", source), ""), PostEdit(target))
    assert (learned.rejected, learned.updates) == (reason, 0)
    assert all(torch.equal(before[name], tensor) for name, tensor in system.scope.tensors().items())


@pytest.mark.parametrize("method", ["full", "lasso", "bias"])
def test_a_pair_with_a_nan_loss_is_rejected(small: Marian, method: str) -> None:
    system = learner(small, method)
    small.weights["model.decoder.layers.1.fc2.bias"][0] = math.nan
    learned = system.learn(Proposal(Segment("1", "Save"), ""), PostEdit("Speichern"))
    assert learned.rejected == "improbable"
    assert not system.updates_


@pytest.mark.parametrize("method", ["full", "lasso", "bias"])
def test_a_harmful_lesson_leaves_the_model_exactly_unchanged(small: Marian, method: str) -> None:
    system = learner(small, method)
    teach(system, *PAIRS[2])
    before = {name: tensor.clone() for name, tensor in system.scope.tensors().items()}
    system.max_loss_increase = -100.0  # every update counts as harmful
    learned = system.learn(Proposal(Segment("1", PAIRS[5][0]), ""), PostEdit(PAIRS[5][1]))
    assert (learned.rejected, learned.updates) == ("harmful", 0)
    after = system.scope.tensors()
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items() if not name.startswith("rows/"))
    assert system.propose(Segment("1", PAIRS[9][0])) == _again(small, method).propose(Segment("1", PAIRS[9][0]))


def test_a_step_far_too_long_is_rolled_back(small: Marian) -> None:
    system = AdaptiveNMT(Dense(small, all_names(small.weights), learning_rate=50.0), max_updates=2)
    before = {name: small.weights[name].clone() for name in small.weights}
    assert system.learn(Proposal(Segment("1", PAIRS[5][0]), ""), PostEdit(PAIRS[5][1])).rejected == "harmful"
    assert all(system.model.weights[name].equal(tensor) for name, tensor in before.items())


@pytest.mark.parametrize("method", ["full", "lora", "full+memory+copy"])
def test_a_restored_model_learns_the_same_source_again_to_the_last_bit(
    small: Marian, tmp_path: Path, method: str
) -> None:
    """After a lesson that stops early, the cached encoder states come from updates that are not committed yet.

    They must not be reused.
    """
    settings = {"learning_rate": 0.3, "max_updates": 500, "target_perplexity": 200.0}
    live, restored = make_learner(method, small, settings), make_learner(method, small, settings)
    assert isinstance(live, AdaptiveNMT)
    assert isinstance(restored, AdaptiveNMT)
    lesson = Proposal(Segment("1", "Backups"), "")
    assert 0 < live.learn(lesson, PostEdit("Sicherungen")).updates < 500
    live.save(tmp_path)
    restored.load(tmp_path)
    for system in (live, restored):
        system.learn(lesson, PostEdit("Kopien"))
    after = restored.delta().tensors
    assert all(after[name].equal(tensor) for name, tensor in live.delta().tensors.items())


def _again(small: Marian, method: str) -> AdaptiveNMT:
    system = learner(small, method)
    teach(system, *PAIRS[2])
    return system


def test_adaptive_nmt_learns_only_from_post_edits(small: Marian) -> None:
    learned = learner(small, "full").learn(Proposal(Segment("1", "Save"), ""), Reward(0.5))
    assert learned.rejected == "learns from post-edits, not from rewards"


@pytest.mark.parametrize("method", SCOPES)
def test_a_delta_reloaded_translates_the_same(small: Marian, tmp_path: Path, method: str) -> None:
    system = learner(small, method)
    for pair in PAIRS[:8]:
        teach(system, *pair)
    system.save(tmp_path)
    loaded = learner(small, method)
    loaded.load(tmp_path)
    for source, _ in PAIRS[:20]:
        assert loaded.propose(Segment("1", source)) == system.propose(Segment("1", source))
    assert (loaded.lessons_, loaded.updates_) == (system.lessons_, system.updates_)


def test_a_delta_holds_only_what_changed(small: Marian) -> None:
    top, full = learner(small, "top"), learner(small, "full")
    for pair in PAIRS[:3]:
        teach(top, *pair)
        teach(full, *pair)
    assert set(top.delta().tensors) == {f"dense/{name}" for name in top_names(small)}
    touched = full.delta().tensors["rows/model.encoder.embed_tokens.weight/ids"]
    assert set(touched.tolist()) == {i for source, _ in PAIRS[:3] for i in small.source.encode(source)}
    assert full.delta().size > top.delta().size > 0


def test_a_delta_of_another_base_or_method_is_refused(small: Marian, tmp_path: Path) -> None:
    system = learner(small, "bias")
    teach(system, *PAIRS[0])
    delta = system.delta()
    with pytest.raises(InputError, match="another base model"):
        learner(small, "bias").load_delta(Delta("bias", "0" * 32, delta.tensors, delta.counters))
    with pytest.raises(InputError, match="method 'bias', not 'full'"):
        learner(small, "full").load_delta(delta)
    (tmp_path / "junk").write_bytes(b"junk")
    with pytest.raises(InputError, match=r"junk: not a delta; expected a \.safetensors file or a RUN.state folder$"):
        Delta.read(tmp_path / "junk")


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (None, "written by an older mtloop (format 1); learn again from its data"),
        ("1", "written by an older mtloop (format 1); learn again from its data"),
        ("3", "this delta has format 3; this mtloop reads format 2"),
    ],
)
def test_a_delta_of_another_format_is_refused_in_one_line(
    small: Marian, tmp_path: Path, number: str | None, message: str
) -> None:
    system = learner(small, "bias")
    system.save(tmp_path)
    path = tmp_path / "delta.safetensors"
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
    assert metadata.pop("format") == "2"
    save_file(load_file(path), path, metadata | ({"format": number} if number else {}))
    with pytest.raises(InputError, match=re.escape(message)) as error:
        system.load(tmp_path)  # a snapshot of a learner is a delta
    assert len(str(error.value).splitlines()) == 1


def test_a_model_is_not_a_delta(small_folder: Path) -> None:
    with pytest.raises(InputError, match="not a delta"):
        Delta.read(small_folder / "model.safetensors")


def test_a_delta_of_other_tensors_never_reaches_the_base(small: Marian) -> None:
    """The tensors of method `fixed` differ from those the delta was learned with."""
    one, other = (
        AdaptiveNMT(Dense(small, frozenset([f"model.encoder.layers.{i}.fc1.bias"])), method="fixed") for i in (0, 1)
    )
    teach(one, *PAIRS[0])
    before = small.weights["model.encoder.layers.0.fc1.bias"].clone()
    with pytest.raises(InputError, match="another choice"):
        other.load_delta(one.delta())
    assert torch.equal(small.weights["model.encoder.layers.0.fc1.bias"], before)


def test_lasso_keeps_its_budgets_and_stores_no_zero_group(small: Marian) -> None:
    scope = Lasso(small, hidden_budget=3_000, embedding_budget=32 * 40, lasso_penalty=1e-3)
    system = AdaptiveNMT(scope, method="lasso")
    for pair in PAIRS[:10]:
        teach(system, *pair)
        hidden, rows = scope.parameters
        assert 0 < hidden <= 3_000
        assert 0 < rows <= 32 * 40
    assert all(float(offset.norm()) > 0 for offset in scope.hidden_.values())
    assert system.delta().parameters <= 3_000 + 32 * 40 + len(small.target)


def test_lasso_without_penalty_and_limits_is_full(small: Marian) -> None:
    """If no offset is shrunk or dropped, the model is the same as with `full`."""
    lasso = Lasso(
        small,
        learning_rate=0.05,
        bias_learning_rate=0.0,
        lasso_penalty=0.0,
        hidden_budget=10**9,
        embedding_budget=10**9,
    )
    full = Dense(small, all_names(small.weights), learning_rate=0.05)
    for source, target in PAIRS[:4]:
        ids, wanted = small.source.encode(source), small.target.encode(target)
        for scope in (lasso, full):
            scope.update(forward_pass(scope.model, ids, wanted, scope.names, scope.extra_bias))
            scope.commit()
    ids, wanted = small.source.encode(PAIRS[9][0]), small.target.encode(PAIRS[9][1])
    ours, theirs = (forward_pass(scope.model, ids, wanted, frozenset()).loss for scope in (lasso, full))
    assert ours == pytest.approx(theirs, abs=1e-4)


def test_a_strong_penalty_keeps_everything_at_zero(small: Marian) -> None:
    scope = Lasso(small, lasso_penalty=100.0)
    teach(AdaptiveNMT(scope, method="lasso"), *PAIRS[0])
    assert scope.parameters == (0, 0)


def test_long_sources_are_split_and_nothing_is_lost(small: Marian) -> None:
    system = learner(small, "baseline")
    source = " ".join(f"Open pane {i}." for i in range(1500))
    for max_tokens in (system.max_piece_tokens, system.max_sentence_tokens):
        pieces = list(system.split_source(source, max_tokens))
        assert " ".join(pieces).split() == source.split()
        assert all(len(small.source.encode(piece)) <= max_tokens for piece in pieces)


def test_a_long_source_is_split_between_sentences(small: Marian) -> None:
    system = learner(small, "baseline")
    assert system.max_piece_tokens == MAX_PIECE_TOKENS
    source = "Open pane 1. Close pane 2. " * 6 + "And a last one that goes on and on" + " and on" * 20 + "."
    *first, last = pieces = list(system.split_source(source))
    assert " ".join(pieces) == source
    assert len(first) > 1
    assert all(len(small.source.encode(piece)) <= MAX_PIECE_TOKENS for piece in first)
    assert last.startswith("And a last one")
    assert len(small.source.encode(last)) > MAX_PIECE_TOKENS
    assert list(system.split_source(source, 10_000)) == [source]


def test_a_paragraph_is_translated_sentence_by_sentence(small: Marian) -> None:
    system = learner(small, "baseline")
    one, other = (system.propose(Segment("1", text)).text for text in ("Open pane 1.", "Close pane 2."))
    assert system.propose(Segment("1", "Open pane 1. Close pane 2.")).text == f"{one} {other}"
    begun = system.propose(Segment("1", "Open pane 1. Close pane 2."), prefix="Öffnen. Schl").text
    assert begun == "Öffnen. " + small.target.decode(system.search("Close pane 2.", "Schl")[0].ids)


def remembering(model: Marian) -> AdaptiveNMT:
    return AdaptiveNMT(Frozen(model), method="memory", max_updates=0, memory=Memory(MemorySettings()))


def test_a_sentence_learned_in_a_paragraph_is_known_alone(small: Marian) -> None:
    system = remembering(small)
    paragraph = system.propose(Segment("1", "Open %s now. Close pane 2."))
    learned = system.learn(paragraph, PostEdit("%s jetzt öffnen. Bereich 2 schließen."))
    assert learned.info["sentences"] == 2
    assert system.propose(Segment("2", "Close pane 2.")).text == "Bereich 2 schließen."
    assert system.propose(Segment("3", "Open {name} now.")).text == "{name} jetzt öffnen."
    assert system.forget(0)
    assert system.propose(Segment("2", "Close pane 2.")).text != "Bereich 2 schließen."


def test_forgetting_a_lesson_forgets_the_sentences_after_a_rejected_one(small: Marian) -> None:
    system = remembering(small)
    paragraph = "Open pane 2. " + "and on " * 200 + "now. Close pane 2."
    target = "Bereich 2 öffnen. " + "und weiter " * 200 + "jetzt. Bereich 2 schließen."
    system.learn(system.propose(Segment("1", paragraph)), PostEdit(target))
    assert system.propose(Segment("2", "Close pane 2.")).text == "Bereich 2 schließen."
    assert system.forget(0)
    assert system.propose(Segment("2", "Close pane 2.")).text != "Bereich 2 schließen."
    assert len(system.memory or ()) == 0


def test_a_correction_without_the_placeholder_is_remembered_for_exactly_its_source(
    small: Marian, tmp_path: Path
) -> None:
    system = remembering(small)
    assert system.learn(system.propose(Segment("1", "Open %s.")), PostEdit("Öffnen.")).rejected is None
    system.save(tmp_path)
    restored = remembering(small)
    restored.load(tmp_path)
    for one in (system, restored):
        assert one.propose(Segment("2", "Open %s.")).text == "Öffnen."
        assert one.propose_many([Segment("2", "Open %s.")])[0].text == "Öffnen."
        assert "{name}" in one.propose(Segment("3", "Open {name}.")).text
    system.learn(system.propose(Segment("4", "Open %s.")), PostEdit("%s öffnen."))
    assert system.propose(Segment("5", "Open %s.")).text == "%s öffnen."


WRITTEN = [
    ("Press <b>Start</b> to begin.", "Drücken Sie zum Beginnen <b>Start</b>.", "plain"),
    ("Press <b>Start</b> to begin.", "Drücken Sie zum Beginnen <b>Start</b>.", "xml"),
    ("Open %s. Then close %d.", "%s öffnen,\n dann %d schließen. ", "plain"),
    ("Save &amp; close {name}.", "{name}&#160;sichern &amp; schließen.", "xml"),
    ("One.\nTwo.\n", "Eins.\r\nZwei.", "plain"),
]


@pytest.mark.parametrize(("source", "target", "syntax"), WRITTEN)
def test_a_repeat_is_translated_exactly_as_it_was_confirmed(
    small: Marian, tmp_path: Path, source: str, target: str, syntax: str
) -> None:
    segment, system, restored = Segment("1", source, {"syntax": syntax}), remembering(small), remembering(small)
    first = system.propose(segment).text
    system.learn(Proposal(segment, ""), PostEdit(target))
    system.save(tmp_path)
    restored.load(tmp_path)
    for one in (system, restored):
        assert one.propose(segment).text == target
        assert one.propose(segment).memo["memory"] == "exact"
        assert [found.text for found in one.propose_many([segment, segment])] == [target] * 2
        one.repeats_exactly = False
        assert "memory" not in one.propose(segment).memo
    assert [found.target for found in restored.similar_corrections(source) or ()] == [target]
    restored.repeats_exactly = True
    restored.forget_in_memory(0)
    assert restored.propose(segment).text == first


def test_the_newest_correction_of_a_source_with_tags_counts_and_can_be_forgotten(small: Marian) -> None:
    system, segment = remembering(small), Segment("1", "Press <b>Start</b> to begin.")
    targets = ["Zum Beginnen <b>Start</b> drücken.", "Drücken Sie zum Beginnen <b>Start</b>."]
    for target in targets:
        teach(system, segment.source, target)
        assert system.propose(segment).text == target
    assert system.forget(1)
    assert system.propose(segment).text == targets[0]


def test_a_lesson_that_fails_is_not_counted(small: Marian, monkeypatch: pytest.MonkeyPatch) -> None:
    system, learn_sentence = remembering(small), AdaptiveNMT._learn_sentence

    def fail(self: AdaptiveNMT, source: str, target: str, part: int, is_last: bool) -> Learned:
        if is_last:
            raise RuntimeError(source)
        return learn_sentence(self, source, target, part, is_last)

    with monkeypatch.context() as patch:
        patch.setattr(AdaptiveNMT, "_learn_sentence", fail)
        with pytest.raises(RuntimeError):
            teach(system, "Open it. Close it.", "Öffnen. Schließen.")
    assert (system.lessons_, len(system.memory or ())) == (0, 0)
    teach(system, "Open it.", "Öffnen.")
    assert [one.lesson for one in system.similar_corrections("Open it.") or ()] == [0]


def test_whole_sources_change_no_votes(small: Marian) -> None:
    """The memory weighs words by the number of its sentences; a whole source is none."""
    memories = []
    for source, target in (("Open it.", "Öffnen."), ("<b>Open it.</b>", "<b>Öffnen.</b>")):
        system = remembering(small)
        teach(system, source, target)
        assert system.memory is not None
        memories.append(system.memory)
    plain, tagged = memories
    assert (len(plain), len(tagged)) == (1, 2)
    assert plain.sources_of("Öffnen.") == tagged.sources_of("Öffnen.") == ["Open it."]
    found = [[value for _, value in one.most_similar(["open", "other", "it"])] for one in memories]
    assert found[0] == found[1] != []


def test_without_a_memory_a_correction_without_the_placeholder_is_rejected(small: Marian) -> None:
    system = learner(small, "full")
    assert system.learn(system.propose(Segment("1", "Open %s.")), PostEdit("Öffnen.")).rejected == "placeholders"


def test_a_sentence_too_long_for_the_model_is_split_into_few_pieces(small: Marian) -> None:
    system = learner(small, "baseline")
    pieces = list(system.split_source("and on " * 400))
    assert " ".join(pieces).split() == ("and on " * 400).split()
    sizes = [len(small.source.encode(piece)) for piece in pieces]
    assert max(sizes) <= system.max_sentence_tokens
    assert all(size > system.max_sentence_tokens - 10 for size in sizes[:-1])


@pytest.mark.parametrize("source", ["", "   ", "🙂🙂", "שלום עולם", "a" * 600, "\u0000"])
def test_unusual_sources_are_translated_without_error(small: Marian, source: str) -> None:
    assert isinstance(learner(small, "baseline").propose(Segment("1", source)).text, str)


@pytest.mark.parametrize("prefix", ["Öffnen Sie", "qqq☃"])
def test_a_typed_prefix_is_completed(small: Marian, prefix: str) -> None:
    assert learner(small, "baseline").propose(Segment("1", "Open it."), prefix=prefix).text.startswith(prefix)


def test_beam_search_through_the_learner(small: Marian) -> None:
    system = AdaptiveNMT(Frozen(small), method="baseline", beam_size=4)
    found = system.search(PAIRS[3][0])
    assert len(found) == 4
    assert system.propose(Segment("1", PAIRS[3][0])).text == small.target.decode(found[0].ids)


def test_without_the_filter_every_pair_is_learned(small: Marian) -> None:
    text = "these five small words stay"
    for filters, rejected in ((True, "copied"), (False, None)):
        learner = make_learner("full", small, {"filter_pairs": filters})
        assert learner.learn(Proposal(Segment("1", text), ""), PostEdit(text)).rejected == rejected


def test_without_the_limit_a_phrase_may_be_repeated(small: Marian) -> None:
    limits = [make_learner("full", small, {"limit_loops": limit}).limits for limit in (True, False)]  # type: ignore[attr-defined]
    assert [one.is_looping([1, 2] * 20) for one in limits] == [True, False]
