"""Every error survives pickling, which carries it from a worker process."""

from __future__ import annotations

import pickle

import pytest

from mtloop.client.failures import Refused
from mtloop.client.transport import RetryableError
from mtloop.client.wmt_client_python.rest import ApiException
from mtloop.core.errors import InputError, MissingExtra, TraceError, UnknownName

ERRORS = [
    InputError("line is empty", path="hyp.txt", line=3),
    UnknownName("metric", "blue", ["bleu", "chrf"], path="run.toml"),
    TraceError("is empty", path="run.jsonl"),
    MissingExtra("torch is not installed"),
    Refused(409, "urn:mtloop:already-translated", "Conflict", "this sentence has its reward", "{}"),
    RetryableError("HTTP 503", maybe_executed=False, retry_after=2.0),
    ApiException(404, "Not found", "{}"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_is_the_same_after_pickling(error: Exception) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            UnknownName("method", "ful", ["bias", "full"]),
            "there is no method 'ful'; did you mean 'full'? known: bias, full",
        ),
        (UnknownName("policy", "x", ["exp3"]), "there is no policy 'x'; known: exp3"),
        (
            UnknownName("setting", "x", [], owner="method copy-source"),
            "method copy-source has no setting 'x'; known: none",
        ),
        (UnknownName("setting", "x", ["data"], path="a.toml"), "a.toml: there is no setting 'x'; known: data"),
        (
            UnknownName("method", "x", ["full"], hint="parts combine"),
            "there is no method 'x'; known: full; parts combine",
        ),
    ],
)
def test_an_unknown_name_is_one_sentence(error: UnknownName, message: str) -> None:
    assert str(error) == message
