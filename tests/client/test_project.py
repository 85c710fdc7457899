"""`mtloop.client.Project` against a service with the tiny model in other processes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.resources import files
from itertools import count
from pathlib import Path

import httpx2
import pytest
from helpers.fake_service import FakeClock, RandomFaults
from helpers.served_projects import ServedProjects, serving_projects
from helpers.tiny_marian import demo_pairs

import mtloop
from mtloop.checks.learner_contract import check_learner
from mtloop.client import Client, Project, Refused, Retry, Unreachable
from mtloop.core import run
from mtloop.core.errors import InputError, UnknownName
from mtloop.core.trace import Trace
from mtloop.core.types import Learned, PostEdit, Preference, Proposal, Reward, Segment, Step, Truth
from mtloop.judges import PostEditor

PAIRS = list(demo_pairs())
SOURCE, TARGET = PAIRS[0]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProjects]:
    with serving_projects(tmp_path_factory.mktemp("projects")) as server:
        yield server


@pytest.fixture(scope="module")
def project(server: ServedProjects) -> Iterator[Project]:
    with Project(server.create("shared"), server.key) as project:
        yield project


def write_data(path: Path, pairs: list[tuple[str, str]]) -> Path:
    path.write_text("source\ttarget\n" + "".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return path


def results(steps: list[Step]) -> list[object]:
    return [(step.proposal.text, step.feedback, step.learned) for step in steps]


def wait_until(done: Callable[[], bool]) -> None:
    for _ in range(200):
        if done():
            return
        time.sleep(0.05)
    raise AssertionError("nothing happened within ten seconds")


# Measured like a method at home


@pytest.mark.parametrize("method", ["lora+memory+copy", "full"])
def test_the_steps_over_a_project_are_those_at_home(server: ServedProjects, method: str, tmp_path: Path) -> None:
    data = write_data(tmp_path / "manual.tsv", [*PAIRS[:16], *PAIRS[:4]])
    address = server.create(f"measured-{method.replace('+', '-')}", method=method)
    there = mtloop.run(data, address, out=tmp_path / "there.jsonl")
    home = mtloop.run(data, method, model=server.model, out=tmp_path / "home.jsonl")
    assert len(there.steps) == 20
    assert results(there.steps) == results(home.steps)
    assert len({step.proposal.text for step in home.steps}) > 4  # it learned
    assert all(one.learned and one.learned.info["perplexity"] for one in home.steps)
    header = Trace.read(there.trace).header.config
    assert header["method"] == address
    assert method in str(header["fingerprint"])


@pytest.mark.slow
def test_the_steps_over_the_demo_document_are_those_at_home(tmp_path: Path) -> None:
    """Its first pages, with the embedded model."""
    data = tmp_path / "manual.tsv"
    lines = (files("mtloop") / "demo" / "manual.en-de.tsv").read_bytes().splitlines(keepends=True)
    data.write_bytes(b"".join(lines[:81]))  # the first one names the columns
    with serving_projects(tmp_path, "en-de") as server:
        there = mtloop.run(data, server.create("manual"), out=tmp_path / "there.jsonl")
    home = mtloop.run(data, out=tmp_path / "home.jsonl")
    assert len(there.steps) == 80
    assert results(there.steps) == results(home.steps)


def test_the_contract_of_learners(server: ServedProjects) -> None:
    with ExitStack() as stack:

        def make() -> Project:
            return stack.enter_context(Project(server.create(f"contract-{next(numbers)}"), server.key))

        numbers = count()
        targets = dict(PAIRS[:4])
        segments = [Segment(str(number), source) for number, source in enumerate(targets)]
        check_learner(make, segments, lambda proposal: PostEdit(targets[proposal.segment.source]))


def test_a_resumed_run_sends_nothing_twice(server: ServedProjects, tmp_path: Path) -> None:
    data, address = write_data(tmp_path / "manual.tsv", PAIRS[:6]), server.create("resumed")
    mtloop.run(data, address, out=tmp_path / "run.jsonl", stop_after=4)
    resumed = mtloop.run(data, address, out=tmp_path / "run.jsonl", resume=True)
    assert len(resumed.steps) == 6
    with Project(address, server.key) as project:
        assert project.info().state == 1 + 6  # the settings, and each correction once


def test_a_run_warns_of_a_project_that_was_corrected(
    server: ServedProjects, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data, address = write_data(tmp_path / "manual.tsv", PAIRS[:2]), server.create("corrected")
    with caplog.at_level(logging.WARNING, "mtloop"):
        mtloop.run(data, address, out=tmp_path / "first.jsonl")
        assert "corrections already" not in caplog.text
        mtloop.run(data, address, out=tmp_path / "second.jsonl")
    assert "project corrected has corrections already" in caplog.text


def test_a_translator_over_a_project(server: ServedProjects) -> None:
    with mtloop.load(method=server.create("loaded")) as translator:
        assert "no correction in the project" in translator.translate(SOURCE).because
        assert translator.correct(SOURCE, TARGET)
        now = translator.translate(SOURCE)
        assert (now.text, now.similar[0].target) == (TARGET, TARGET)


# One method per route


def test_translate_confirm_undo_redo(server: ServedProjects) -> None:
    with Project(server.create("cycle"), server.key) as project:
        before = project.translate(SOURCE)
        assert str(before) != TARGET
        assert (before.state, before.rebuilding, before.corrections) == (1, False, ())
        done = project.confirm(SOURCE, TARGET, proposal=str(before), document="manual")
        assert (done.number, done.new, done.refused, done.waiting) == (2, True, None, False)
        assert done.learned is not None
        assert done.learned.rejected is None
        assert done.proof is not None
        assert done.proof["before"] == str(before)
        assert not project.confirm(SOURCE, TARGET, document="manual").new
        after = project.translate(SOURCE)
        assert (str(after), after.repeated, after.corrections[0]["number"]) == (TARGET, True, 2)
        assert project.undo(2) == 3
        wait_until(lambda: not project.translate(SOURCE).rebuilding)
        assert str(project.translate(SOURCE)) == str(before)
        assert project.redo(2) == 4
        wait_until(lambda: not project.translate(SOURCE).rebuilding)
        assert str(project.translate(SOURCE)) == TARGET


def test_many_texts_are_sent_in_parts(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mtloop.client.project_client.MAX_TEXTS", 3)
    texts = [source for source, _ in PAIRS[20:27]]
    many = project.translate(texts)
    assert [str(one) for one in many] == [str(project.translate(text)) for text in texts]
    segments = [Segment("a", texts[0]), Segment("b", " "), Segment("c", f"<b>{texts[1]}</b>", {"syntax": "xml"})]
    segments.append(Segment("d", f"<p>{texts[0]}</p><p>{texts[2]}</p>", {"syntax": "html"}))
    proposals = project.propose_many(segments)
    assert [one.segment for one in proposals] == segments
    assert proposals[0].text == str(many[0])
    assert proposals[1].text == " "
    assert proposals[2].text.startswith("<b>")
    assert proposals[3].text == f"<p>{many[0]}</p><p>{many[2]}</p>"
    assert [project.propose(one).text for one in segments] == [one.text for one in proposals]


def test_a_prefix_and_candidates(project: Project) -> None:
    assert str(project.translate(SOURCE, prefix="Das")).startswith("Das")
    assert project.propose(Segment("1", SOURCE), "Das").text.startswith("Das")
    assert len(project.translate(SOURCE, candidates=3).candidates) > 1
    with pytest.raises(Refused, match="prefix: send one text with it"):
        project.translate([SOURCE, SOURCE], prefix="Das")


def test_what_cannot_be_learned_says_why(project: Project) -> None:
    proposal = project.propose(Segment("7", "Open the drawer of the old cabinet in the reading room."))
    learned = project.learn(proposal, PostEdit(proposal.segment.source))
    assert learned.rejected == "the translation is a copy of the source"
    preferred = project.learn(proposal, Preference("a", "b"))
    assert preferred == Learned(rejected="learns from post-edits, not from preferences")
    assert project.learn(proposal, Reward(0.5)) == Learned(rejected="learns from post-edits, not from rewards")
    with pytest.raises(Refused, match="does not learn from ratings"):
        project.rate("0" * 32, 0.5)


def test_a_confirmation_that_waits_for_a_review(server: ServedProjects) -> None:
    with Project(server.create("reviewed", review=True), server.key) as project:
        proposal = project.propose(Segment("1", SOURCE))
        assert project.learn(proposal, PostEdit(TARGET)).rejected == "it waits for a review"
        assert project.review(2, True) == 3
        wait_until(lambda: str(project.translate(SOURCE)) == TARGET)


def test_a_later_correction_of_a_segment_replaces_the_first(server: ServedProjects) -> None:
    other = PAIRS[1][1]
    with Project(server.create("replaced"), server.key) as project:
        segment = Segment("1", SOURCE, {"document": "manual"})
        for text in (TARGET, other):
            project.learn(project.propose(segment), PostEdit(text))
        assert project.propose(segment).text == other
        project.retract(segment, other)
        wait_until(lambda: not project.translate(SOURCE).rebuilding)
        assert project.propose(segment).text == TARGET


def test_what_is_retracted_was_confirmed_by_this_person(server: ServedProjects) -> None:
    """Nothing is confirmed in order to be undone, also if somebody replaced the correction meanwhile."""
    with Project(server.create("retracted"), server.key) as project:
        named, other = Segment("1", SOURCE, {"document": "manual"}), Segment("", SOURCE, {"document": "manual"})
        assert project.retract(named, TARGET) is None
        first = project.confirm_segment(named, TARGET).number
        project.confirm_segment(named, "Von jemand anderem.")
        state = project.info().state
        assert project.retract(named, TARGET) == state + 1
        assert project.correction(first).state == "undone"
        assert project.retract(named, TARGET) is None
        assert project.retract(named, "Nie bestätigt.") is None
        assert project.info().state == state + 1
        unnamed = project.confirm_segment(other, TARGET).number
        assert project.retract(other, TARGET) is not None
        assert project.correction(unnamed).state == "undone"


def test_what_the_learner_rejects_is_returned_as_at_home(server: ServedProjects) -> None:
    with Project(server.create("rejecting", method="lora"), server.key) as project:
        segment = Segment("1", "Save {name} as a new copy.")
        assert project.confirm_segment(segment, "Als neue Kopie speichern.").refused
        learned = project.learn(project.propose(segment), PostEdit("Als neue Kopie speichern."))
        assert learned.rejected == "placeholders"


def test_ratings(server: ServedProjects) -> None:
    with Project(server.create("rated", method="nmt-el"), server.key) as project:
        assert project.learns_from == (Reward,)
        proposal = project.propose(Segment("1", SOURCE))
        learned = project.learn(proposal, Reward(0.5))
        assert learned.rejected is None
        assert project.learn(proposal, Reward(0.5)) == learned  # the same rating twice is one
        again = project.learn(proposal, Reward(0.25))
        assert again.rejected == "the proposal was rated before, or is too old"
        project.undo(2)
        assert project.learn(proposal, Reward(0.25)).rejected is None
        assert project.info().state == 4
        foreign = project.learn(Proposal(Segment("1", SOURCE), TARGET), Reward(0.5))
        assert foreign.rejected == "this proposal cannot be rated; it does not come from this project"
        edited = project.learn(proposal, PostEdit(TARGET))
        assert edited == Learned(rejected="learns from rewards, not from post-edits")
        with pytest.raises(Refused, match="No corrections"):
            project.confirm(SOURCE, TARGET)


def test_a_method_that_never_learns(server: ServedProjects, tmp_path: Path) -> None:
    data, address = write_data(tmp_path / "manual.tsv", PAIRS[:3]), server.create("frozen", method="baseline")
    there = mtloop.run(data, address, out=tmp_path / "there.jsonl")
    home = mtloop.run(data, "baseline", model=server.model, out=tmp_path / "home.jsonl")
    assert [step.proposal.text for step in there.steps] == [step.proposal.text for step in home.steps]


def test_settings_glossary_and_members(server: ServedProjects) -> None:
    with Project(server.create("settled"), server.key) as project:
        assert project.learns_from == (PostEdit,)
        changed = project.change(method="memory", review=True, glossary={"drawer": "Schublade"})
        assert (changed.method, changed.review, changed.state, changed.role) == ("memory", True, 3, "organise")
        assert project.glossary() == {"drawer": "Schublade"}
        assert project.members() == {"ann": "organise"}
        project.set_member("ben", "confirm")
        assert project.members()["ben"] == "confirm"
        ask = project._of_project
        with pytest.MonkeyPatch.context() as patch:
            one = {True: "&limit=1", False: "?limit=1"}
            patch.setattr(project, "_of_project", lambda method, path: ask(method, path + one["?" in path]))
            assert project.members() == {"ann": "organise", "ben": "confirm"}
        project.remove_member("ben")
        with pytest.raises(Refused, match="There is no such participant"):
            project.set_member("nobody", "confirm")
        project.delete()
        with pytest.raises(UnknownName, match="there is no project 'settled'"):
            project.info()


def test_the_list_of_corrections(server: ServedProjects, monkeypatch: pytest.MonkeyPatch) -> None:
    with Project(server.create("listed"), server.key) as project:
        for source, target in PAIRS[:3]:
            project.confirm(source, target, document="manual", wait="durable")
        project.undo(3)
        found = list(project.corrections())
        assert [(one.number, one.source, one.state) for one in found] == [
            (4, PAIRS[2][0], "learned"),
            (3, PAIRS[1][0], "undone"),
            (2, PAIRS[0][0], "learned"),
        ]
        assert (found[0].document, found[0].participant, found[0].format) == ("manual", "ann", "text")
        assert list(project.corrections(state="undone")) == found[1:2] == [project.correction(3)]
        assert [one.number for one in project.corrections(search=PAIRS[2][0].upper())] == [4]
        with pytest.raises(Refused, match="no correction with this number"):
            project.undo(99)


def test_a_long_list_comes_in_parts(server: ServedProjects, tmp_path: Path) -> None:
    with Project(server.create("long"), server.key) as project:
        project.import_file(write_data(tmp_path / "memory.tsv", PAIRS[:130]))
        assert len({one.number for one in project.corrections()}) == len({source for source, _ in PAIRS[:130]})


def test_import_export_delta_and_fork(server: ServedProjects, tmp_path: Path) -> None:
    memory = write_data(tmp_path / "memory.tsv", PAIRS[:8])
    with Project(server.create("imported"), server.key) as project:
        done, seen = project.import_file(memory), list[int]()
        assert (done.new, done.known, done.refused) == (8, 0, 0)
        project.wait(done.job, lambda progress: seen.append(progress.learned))
        assert seen[-1] == 8
        again = project.import_file(memory)
        assert (again.new, again.known, again.job) == (0, 8, None)
        project.wait(again.job)
        assert str(project.translate(SOURCE)) == TARGET
        assert TARGET in project.export("tmx").decode()
        assert project.export("tsv").decode().splitlines()[1].split("\t")[:2] == [SOURCE, TARGET]
        delta = tmp_path / "delta.safetensors"
        delta.write_bytes(project.delta())
        with mtloop.load(server.model, delta=delta) as here:
            assert str(here.translate(PAIRS[50][0])) == str(project.translate(PAIRS[50][0]))
        copy = project.fork("copied")
        assert (copy.name, copy.role, copy.method) == ("copied", "organise", project.info().method)
        with Project(f"{server.url}/copied", server.key) as copied:
            assert str(copied.translate(PAIRS[50][0])) == str(project.translate(PAIRS[50][0]))
        with pytest.raises(Refused, match="a project of this name"):
            project.fork("copied")
        with pytest.raises(InputError, match=r"expected \.tmx, \.tsv or \.po"):
            project.import_file(tmp_path / "memory.docx")


def test_statistics(server: ServedProjects) -> None:
    with Project(server.create("measured"), server.key) as project:
        for number, (source, target) in enumerate(PAIRS[:4]):
            project.learn(project.propose(Segment(str(number), source)), PostEdit(target))
        found = project.statistics()
        assert (found["corrections"], found["measured"], found["without_base"]) == (4, 4, 0)
        metrics = found["metrics"]
        assert isinstance(metrics, list)
        assert any(isinstance(one, dict) and str(one["name"]).lower() == "ter" and one["base"] for one in metrics)


def test_changes(server: ServedProjects) -> None:
    address = server.create("watched")
    with Project(address, server.key) as watcher, Project(address, server.key) as project:
        states = watcher.changes()
        assert next(states) == 1
        number = project.confirm(SOURCE, TARGET, wait="durable").number
        assert next(states) == number == 2
        project.delete()
        assert list(states) == []


class ReadResponses(httpx2.BaseTransport):
    """Reads each response to its end, so that one that a fault loses leaves no open connection."""

    def __init__(self, inner: httpx2.BaseTransport) -> None:
        self.inner = inner

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = self.inner.handle_request(request)
        return httpx2.Response(response.status_code, headers=response.headers, content=response.read())


@pytest.mark.parametrize("seed", range(2))
def test_faults_of_the_network_change_nothing(server: ServedProjects, seed: int) -> None:
    network = httpx2.HTTPTransport()
    http = httpx2.Client(base_url=server.url, transport=RandomFaults(ReadResponses(network), seed), timeout=60)
    retry = FakeClock().retry(give_up_after=1e9)
    stream = [(Segment(str(number), source), Truth((target,))) for number, (source, target) in enumerate(PAIRS[:12])]
    with network, http, Project(server.create(f"calm-{seed}"), server.key) as calm:
        Client(http, server.key, retry=retry).create_project(
            f"faulty-{seed}", source_language="en", target_language="de"
        )
        faulty = Project(f"{server.url}/faulty-{seed}", server.key, http=http, retry=retry)
        assert list(run(stream, faulty, PostEditor())) == list(run(stream, calm, PostEditor()))
        assert [one.number for one in faulty.corrections()] == list(range(13, 1, -1))
        assert faulty.fork(f"fork-{seed}").state == 13
        faulty.delete()
        with pytest.raises(UnknownName):
            faulty.info()


# Mistakes


def test_a_wrong_name_is_answered_with_the_names_there_are(server: ServedProjects, project: Project) -> None:
    with (
        Project(f"{server.url}/shard", server.key) as wrong,
        pytest.raises(UnknownName, match=r"there is no project 'shard'; did you mean 'shared'\? known: .*shared"),
    ):
        wrong.translate("x")
    with pytest.raises(UnknownName, match="did you mean 'shared'"):
        mtloop.run("unread.tsv", f"{server.url}/shard")


@pytest.mark.parametrize("address", ["http://localhost", "localhost/manual", "http:///manual", "http://h/p?x=1", "x"])
def test_a_wrong_address(address: str) -> None:
    with pytest.raises(InputError, match="is no address of a project; expected http://HOST/PROJECT"):
        Project(address, "key")


def test_the_key(server: ServedProjects, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"{server.url}/{project.name}"
    with Project(address) as found:  # the key of MTLOOP_KEY
        assert found.info().name == "shared"
    monkeypatch.delenv("MTLOOP_KEY")
    with pytest.raises(InputError, match="no API key; set MTLOOP_KEY"):
        Project(address)
    with Project(address, "wrong") as found, pytest.raises(Refused, match="401"):
        found.info()


def test_a_server_that_is_away() -> None:
    with (
        Project("http://127.0.0.1:9/manual", "key", retry=Retry(give_up_after=0.1)) as project,
        pytest.raises(Unreachable, match="was not available within"),
    ):
        project.info()


def test_a_project_exists_already(server: ServedProjects, project: Project) -> None:
    with Client(server.url, server.key) as client:
        assert "shared" in [one.name for one in client.projects()]
        with pytest.raises(Refused, match="a project of this name"):
            client.create_project("shared", source_language="en", target_language="de")
