"""Code as it was written for the 2017 client."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from helpers.fake_service import KEY, SOURCES, Faulty, Service, Time, client_of, served

from mtloop.client.wmt_client_python import Configuration, Sentence, SharedTaskApi, Translation, configuration
from mtloop.client.wmt_client_python.rest import ApiException
from mtloop.core import InputError, UnknownName

PROGRAM = """
import sys
import wmt_client_python
from wmt_client_python.rest import ApiException
from words import WORDS

wmt_client_python.configuration.api_key['x-api-key'] = sys.argv[2]
wmt_client_python.configuration.host = sys.argv[1]
api = wmt_client_python.SharedTaskApi()
api.reset_dataset()
total = 0.0
while True:
    try:
        sentence = api.get_sentence()
    except ApiException as error:
        if error.status == 404:
            break
        raise
    text = " ".join(WORDS.get(word, word) for word in sentence.source.split())
    score = None
    while score is None:
        try:
            score = api.send_translation(wmt_client_python.Translation(id=sentence.id, translation=text)).score
        except ApiException as error:
            print("again:", error, file=sys.stderr)
    total += score
print(total)
"""


def api_of(service: Service, task: str, **retry: float) -> SharedTaskApi:
    host = f"http://service.test/v1/tasks/{task}"
    return SharedTaskApi(Configuration(host), client=client_of(service, **retry))


def to_the_end(api: SharedTaskApi) -> list[float]:
    scores = []
    while (sentence := sentence_of(api)) is not None:
        scores.append(api.send_translation(Translation(sentence.id, sentence.source)).score)
    return scores


def sentence_of(api: SharedTaskApi) -> Sentence | None:
    try:
        return api.get_sentence()
    except ApiException as ended:
        if ended.status == 404:
            return None
        raise


def test_a_program_of_2017_runs_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text(PROGRAM)
    (tmp_path / "words.py").write_text("WORDS = {'guten': 'good', 'morgen': 'morning'}\n")
    service = Service()
    with served(Faulty(service, None, "later", 503)) as url:
        command = [
            sys.executable,
            "-m",
            "mtloop.client.wmt_client_python",
            tmp_path / "old.py",
            f"{url}/v1/tasks/mock",
            KEY,
        ]
        said = subprocess.run(command, capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    (run,) = service.runs.values()
    assert float(said.stdout) == sum(run.rewards) == pytest.approx(3.75)
    assert (run.task, run.position) == ("mock", len(SOURCES))


def test_without_a_program_it_says_how(capsys: pytest.CaptureFixture[str]) -> None:
    from mtloop.client.wmt_client_python.__main__ import main

    with pytest.raises(SystemExit, match="usage"):
        main([])


def test_one_configuration_for_the_whole_program() -> None:
    assert SharedTaskApi()._settings is configuration
    configuration.api_key["x-api-key"] = "secret"
    assert "secret" not in repr(configuration)
    configuration.api_key.clear()


def test_started_again_it_goes_on_where_it_was() -> None:
    service = Service()
    api = api_of(service, "dev")
    first = api.get_sentence()
    api.send_translation(Translation(first.id, "good morning"))
    assert api_of(service, "dev").get_sentence().source == SOURCES[1]
    assert len(service.runs) == 1


def test_reset_begins_again_in_mock_and_dev() -> None:
    service = Service()
    mock = api_of(service, "mock")
    mock.send_translation(Translation(mock.get_sentence().id, "x"))
    mock.reset_dataset()
    assert mock.get_sentence().source == SOURCES[0]
    dev = api_of(service, "dev")
    for _ in range(5):  # more than the three passes of a run
        dev.reset_dataset()
        assert len(to_the_end(dev)) == len(SOURCES)
    assert [run.pass_number for run in service.runs.values() if run.task == "dev"] == [3, 2]


def test_reset_costs_nothing_before_the_first_translation() -> None:
    service = Service()
    api = api_of(service, "training")
    api.reset_dataset()
    api.get_sentence()
    api.reset_dataset()
    assert [run.pass_number for run in service.runs.values()] == [1]


def test_training_is_not_reset() -> None:
    service = Service()
    api = api_of(service, "training")
    to_the_end(api)
    with pytest.raises(ApiException) as refused:
        api.reset_dataset()
    assert refused.value.status == 409
    assert len(service.runs) == 1
    with pytest.raises(ApiException) as ended:
        api.get_sentence()
    assert ended.value.status == 404


def test_errors_are_those_of_2017() -> None:
    service = Service()
    api = api_of(service, "dev")
    sentence = api.get_sentence()
    api.send_translation(Translation(sentence.id, "x"))
    with pytest.raises(ApiException) as refused:
        api.send_translation(Translation(sentence.id, "y"))
    assert (refused.value.status, refused.value.reason) == (409, "it has its reward")
    assert "already-translated" in refused.value.body
    away = SharedTaskApi(
        Configuration("http://x/v1/tasks/dev"), client=client_of(Faulty(service, *["before"] * 99), patience=1)
    )
    with pytest.raises(ApiException) as nobody:
        away.get_sentence()
    assert nobody.value.status == 0


def test_the_only_task_needs_no_name() -> None:
    service = Service()
    with pytest.raises(InputError, match="NAME one of: mock, dev, training"):
        SharedTaskApi(Configuration("http://service.test"), client=client_of(service)).get_sentence()
    del service.kinds["dev"], service.kinds["training"]
    assert SharedTaskApi(Configuration("http://service.test"), client=client_of(service, time=Time())).get_sentence()
    with pytest.raises(UnknownName, match="known: mock"):
        api_of(service, "dev").get_sentence()
