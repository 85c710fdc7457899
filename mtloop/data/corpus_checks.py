"""What to do with a corpus before work begins: say what was skipped, and compare its languages with the model's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mtloop.core.log import logger
from mtloop.data.formats.corpus import Corpus
from mtloop.data.languages import check_languages
from mtloop.data.writing_systems import unexpected_script
from mtloop.text.tokenisers import FAIR_SHARE, lacks_spaces


def check_corpus(corpus: Corpus, models: Iterable[tuple[str, str]] = ()) -> None:
    """Log what the reader skipped. Raise InputError if the texts are in other languages than a model's.

    `models` are the source and target languages of the models that will translate the texts ("": unknown). If the file
    declares no language, the script of the texts is checked, which gives only a warning.
    """
    languages = list(dict.fromkeys(models))
    for source, target in languages:
        check_languages(corpus, source, target)
    for message in corpus.messages:
        logger.warning(message)
    known = corpus.target_lang or any(target for _, target in languages)
    if not known and lacks_spaces(_references(corpus), FAIR_SHARE):
        advice = "give their language with --target-lang, or the scores mean little"
        logger.warning("%s: the references have text without spaces between words; %s", corpus.path, advice)
    for source, target in languages:
        _check_scripts(corpus, source, target)


def _check_scripts(corpus: Corpus, source: str, target: str) -> None:
    for side, texts, declared, language in (
        ("sources", (segment.source for segment, _ in corpus), corpus.source_lang, source),
        ("references", _references(corpus), corpus.target_lang, target),
    ):
        script = "" if declared else unexpected_script(texts, language)
        if script:
            message = "%s: the %s are in %s script, but the language of the model is %s; check the data and --model"
            logger.warning(message, corpus.path, side, script, language)


def _references(corpus: Corpus) -> Iterator[str]:
    return (reference for _, truth in corpus for reference in truth.references[:1])
