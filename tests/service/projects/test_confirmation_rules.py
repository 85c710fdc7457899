"""What may be learned: the language of a text is that of its words."""

from __future__ import annotations

import pytest

from mtloop.service.projects.confirmation_rules import refusal


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ('Press <x id="1"/> &amp; wait &lt; 5 s.', 'Drücken <x id="1"/> &amp; warten &lt; 5 s.'),
        ('Click <g id="1">Save</g> to keep {name}.', 'Auf <g id="1">Speichern</g> klicken, {name} bleibt.'),
        ("Copy %(from)s to %(to)s at %(on)s.", "%(from)s nach %(to)s kopieren: %(on)s."),
        ("Use &lt;b&gt;this&lt;/b&gt; &quot;one&quot;.", "Nutze &lt;b&gt;diesen&lt;/b&gt; &quot;einen&quot;."),
    ],
)
def test_names_of_tags_and_placeholders_are_no_words(source: str, translation: str) -> None:
    assert refusal(source, translation, "en", "de") == ""


def test_a_text_with_tags_in_the_source_language_is_refused() -> None:
    source = 'Save the <g id="1">file</g> as a new copy of this one.'
    kept = 'Save the <g id="1">file</g> to a new place, as it is now.'
    assert refusal(source, kept, "en", "de") == "wrong language"


def test_a_text_of_tags_alone_is_judged() -> None:
    text = "<x/>" * 2000
    assert refusal(text + "Print.", text + "Drucken.", "en", "de") == ""
