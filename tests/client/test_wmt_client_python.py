"""Code written for the 2017 client."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from helpers.fake_service import KEY, SOURCES, FakeClock, Faulty, Service, client_of, served

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


def translate_all(api: SharedTaskApi) -> list[float]:
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


def test_a_program_of_2017_runs_unchanged(tmp_path: Path) -> None:
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
        process = subprocess.run(command, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    (run,) = service.runs.values()
    assert float(process.stdout) == sum(run.rewards) == pytest.approx(3.75)
    assert (run.task, run.position) == ("mock", len(SOURCES))


def test_without_a_program_the_usage_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    from mtloop.client.wmt_client_python.__main__ import main

    with pytest.raises(SystemExit, match="usage"):
        main([])


def test_one_configuration_for_the_whole_program() -> None:
    assert SharedTaskApi()._settings is configuration
    configuration.api_key["x-api-key"] = "secret"
    assert "secret" not in repr(configuration)
    configuration.api_key.clear()


def test_a_restarted_program_resumes_its_run() -> None:
    service = Service()
    api = api_of(service, "dev")
    first = api.get_sentence()
    api.send_translation(Translation(first.id, "good morning"))
    assert api_of(service, "dev").get_sentence().source == SOURCES[1]
    assert len(service.runs) == 1


def test_reset_restarts_mock_and_dev_tasks() -> None:
    service = Service()
    mock = api_of(service, "mock")
    mock.send_translation(Translation(mock.get_sentence().id, "x"))
    mock.reset_dataset()
    assert mock.get_sentence().source == SOURCES[0]
    dev = api_of(service, "dev")
    for _ in range(5):  # more than the three passes of a run
        dev.reset_dataset()
        assert len(translate_all(dev)) == len(SOURCES)
    assert [run.pass_number for run in service.runs.values() if run.task == "dev"] == [3, 2]


def test_reset_does_nothing_before_the_first_translation() -> None:
    service = Service()
    api = api_of(service, "training")
    api.reset_dataset()
    api.get_sentence()
    api.reset_dataset()
    assert [run.pass_number for run in service.runs.values()] == [1]


def test_a_training_task_cannot_be_reset() -> None:
    service = Service()
    api = api_of(service, "training")
    translate_all(api)
    with pytest.raises(ApiException) as refused:
        api.reset_dataset()
    assert refused.value.status == 409
    assert len(service.runs) == 1
    with pytest.raises(ApiException) as ended:
        api.get_sentence()
    assert ended.value.status == 404


def test_errors_are_those_of_the_2017_client() -> None:
    service = Service()
    api = api_of(service, "dev")
    sentence = api.get_sentence()
    api.send_translation(Translation(sentence.id, "x"))
    with pytest.raises(ApiException) as refused:
        api.send_translation(Translation(sentence.id, "y"))
    assert (refused.value.status, refused.value.reason) == (409, "it has its reward")
    assert "already-translated" in refused.value.body
    unreachable = SharedTaskApi(
        Configuration("http://x/v1/tasks/dev"), client=client_of(Faulty(service, *["before"] * 99), give_up_after=1)
    )
    with pytest.raises(ApiException) as failed:
        unreachable.get_sentence()
    assert failed.value.status == 0


def test_the_only_task_needs_no_name() -> None:
    service = Service()
    with pytest.raises(InputError, match="NAME is one of: mock, dev, training"):
        SharedTaskApi(Configuration("http://service.test"), client=client_of(service)).get_sentence()
    del service.kinds["dev"], service.kinds["training"]
    assert SharedTaskApi(
        Configuration("http://service.test"), client=client_of(service, time=FakeClock())
    ).get_sentence()
    with pytest.raises(UnknownName, match="known: mock"):
        api_of(service, "dev").get_sentence()
