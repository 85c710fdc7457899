"""What to do with a corpus before work begins: say what was skipped, and compare its languages with the model's."""

from __future__ import annotations

from mtloop.core.log import logger
from mtloop.data.formats.corpus import Corpus
from mtloop.data.languages import check_languages
from mtloop.data.writing_systems import unexpected_script
from mtloop.text.tokenisers import lacks_spaces


def check_corpus(corpus: Corpus, model_source: str = "", model_target: str = "") -> None:
    """Log what the reader skipped. Raise InputError if the texts are in other languages than the model's.

    If the file declares no language, the script of the texts is checked, which gives only a warning. An empty language
    of the model means: unknown.
    """
    check_languages(corpus, model_source, model_target)
    if corpus.skipped:
        logger.warning(corpus.skipped_message)
    sources = (segment.source for segment, _ in corpus)
    targets = [reference for _, truth in corpus for reference in truth.references[:1]]
    if not corpus.target_lang and not model_target and lacks_spaces(targets):
        message = "%s: the references have no spaces between words; give their language with --target-lang"
        logger.warning(f"{message}, or the scores mean little", corpus.path)
    for side, texts, declared, language in (
        ("sources", sources, corpus.source_lang, model_source),
        ("references", targets, corpus.target_lang, model_target),
    ):
        script = "" if declared else unexpected_script(texts, language)
        if script:
            message = "%s: the %s are in %s script, but the language of the model is %s; check the data and --model"
            logger.warning(message, corpus.path, side, script, language)
