"""What is said about a corpus before work begins."""

from __future__ import annotations

import pytest
from helpers.file_samples import po, tmx, tu

from mtloop.core.errors import InputError
from mtloop.data import check_corpus, declared_languages, read, stream

RUSSIAN = "source\ttarget\nОткройте файл и сохраните его.\tÖffnen und sichern Sie die Datei.\n"


def test_skipped_units_are_reported_once(write, log_messages: list[str]) -> None:
    untranslated = "".join(f'msgid "Save {number}"\nmsgstr ""\n\n' for number in range(49))
    path = write("a 50 %d.po", po(untranslated + 'msgid "Close"\nmsgstr "Zu"\n'))
    check_corpus(read(path), [("en", "de")])
    assert log_messages == [f"{path}: 1 pair, 49 skipped (49 untranslated)"]


def test_a_stream_reports_skipped_units_after_the_last_pair(write, log_messages: list[str]) -> None:
    pairs = stream(write("a.tsv", "source\ttarget\n\tJa.\nSave.\tSichern.\n"))
    next(pairs)
    assert log_messages == []
    assert list(pairs) == []
    assert [message.partition(": ")[2] for message in log_messages] == ["1 pair, 1 skipped (1 empty source)"]


def test_nothing_is_said_about_a_complete_file(write, log_messages: list[str]) -> None:
    check_corpus(read(write("a.tmx", tmx())), [("en", "de")])
    assert log_messages == []


def test_another_language_is_refused(write) -> None:
    corpus = read(write("a.tmx", tmx(tu(en="Save.", it="Salva."))))
    with pytest.raises(InputError, match="the texts are en -> it, but the model translates en -> de"):
        check_corpus(corpus, [("en", "de")])
    check_corpus(corpus)


def test_another_language_in_the_words_of_the_user_is_refused(write) -> None:
    corpus = read(write("a.tsv", "source\ttarget\nSave.\tSalva.\n"), target_lang="it")
    with pytest.raises(InputError, match="the texts are unknown -> it, but the model"):
        check_corpus(corpus, [("en", "de")])


@pytest.mark.parametrize(
    ("model", "warned"),
    [(("en", "de"), True), (("ru", "de"), False), (("", ""), False), (("sr", "de"), False), (("xx", "de"), False)],
)
def test_another_script_gives_a_warning(model: tuple[str, str], warned: bool, write, log_messages: list[str]) -> None:
    path = write("a.tsv", RUSSIAN)
    check_corpus(read(path), [model])
    warning = (
        f"{path}: the sources are in Cyrillic script, but the language of the model is en; check the data and --model"
    )
    assert log_messages == ([warning] if warned else [])


def test_the_script_is_not_checked_if_the_language_is_known(write, log_messages: list[str]) -> None:
    check_corpus(read(write("a.tsv", RUSSIAN), source_lang="en"), [("en", "de")])
    assert log_messages == []


def test_declared_languages(write) -> None:
    assert declared_languages(write("a.tmx", tmx())) == ("en", "de")
    assert declared_languages(write("a.po", po(header='"Language: de_AT\\n"\n')), source_lang="en") == ("en", "de-AT")
    assert declared_languages("missing.tsv") == ("", "")
    with pytest.raises(InputError, match="no such file"):
        declared_languages("missing.tmx")
