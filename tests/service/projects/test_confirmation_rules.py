"""What may be learned: the language of a text is that of its words."""

from __future__ import annotations

import asyncio
import threading
import unicodedata
from importlib.resources import files
from types import SimpleNamespace
from typing import Literal, cast

import pytest

from mtloop.service.demo_project import DOCUMENT
from mtloop.service.project_log.models import TranslationProject
from mtloop.service.projects import project_calls
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


@pytest.mark.parametrize(
    "translation",
    [
        "Fermez la fenêtre avant d'enregistrer le nouveau fichier.",
        "Chiudere la finestra prima di salvare il nuovo file.",
        "Закройте окно перед сохранением нового файла на диск.",
        'Fermez la <g id="1">fenêtre</g> avant d\'enregistrer le nouveau fichier {name}.',
    ],
)
def test_a_text_in_a_third_language_is_refused(translation: str) -> None:
    assert refusal("Close the window before you save the new file.", translation, "en", "de") == "wrong language"


@pytest.mark.parametrize(
    ("source", "translation", "languages"),
    [
        ("Save changes", "Enregistrer", ("en", "de")),  # too short to tell
        ("Search and replace text", "Suchen & Ersetzen", ("en", "de")),
        ("Example: SELECT name FROM customers WHERE town = 'Bonn' ORDER BY age", None, ("en", "de")),
        ("Click File - Save As - Export to PDF - OK.", "Datei - Save As - Export to PDF - OK anklicken.", ("en", "de")),
        ("Browse the App Store for new iPhone games", "Im App Store neue iPhone Games finden", ("en", "de")),
        ("FileAttr (FileNumber As Integer, A As Integer)", "FileAttr (Nummer As Integer, A As Integer)", ("en", "de")),
        ("Close the window before you save the file.", "Zavrite okno skôr, ako uložíte nový súbor.", ("en", "cs")),
        ("Close the window before you save the file.", "Lukk vinduet før du lagrer den nye filen.", ("en", "da")),
        ("Close the window before you save the file.", "Fermez la fenêtre avant d'enregistrer.", ("en", "qx")),
        ("Close the window before you save the file.", "Fermez la fenêtre avant d'enregistrer.", ("en", "")),
        ("Close the window before you save the file.", "Zamknij okno przed zapisaniem tego pliku.", ("en", "pl-PL")),
    ],
)
def test_what_does_not_tell_its_language_is_learned(
    source: str, translation: str | None, languages: tuple[str, str]
) -> None:
    assert refusal(source, translation or source.replace("Example", "Beispiel"), *languages) == ""


SOURCE = "Close the window before you save the new file, and open the next document."
CANTONESE = "喺你儲存新檔案之前，要閂咗個視窗，然後，再打開下一份文件，如果你唔想噉做，可以撳取消，跟住就會返去主頁。"
WU = "辣侬保存新文件之前，关脱窗口，然后，打开下一个文档，假使侬勿想，可以取消。"
HINDI = "नई फ़ाइल सहेजने से पहले विंडो बंद करें, और अगला दस्तावेज़ खोलें। फिर परिवर्तन लागू करें।"
VIETNAMESE = "Hãy đóng cửa sổ trước khi lưu tệp mới, và mở tài liệu tiếp theo."
ARABIC = "أغلق النافذة قبل حفظ الملف الجديد، وافتح المستند التالي."
IN_OTHER_SCRIPTS = [
    (CANTONESE, ("yue", "zh-HK", "wuu")),
    (WU, ("wuu", "zh", "yue")),
    (HINDI, ("hi", "mr")),
    (VIETNAMESE, ("vi",)),
    (ARABIC, ("ar", "arz", "ary")),
]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize(("translation", "languages"), IN_OTHER_SCRIPTS)
def test_words_are_whole_in_every_script(
    translation: str, languages: tuple[str, ...], form: Literal["NFC", "NFD"]
) -> None:
    text = unicodedata.normalize(form, translation)
    assert {refusal(SOURCE, text, "en", language) for language in languages} == {""}
    assert refusal(SOURCE, text, "en", "de") == "wrong language"


def test_four_words_with_vowel_signs_are_too_few_to_judge() -> None:
    words = "दस्तावेज़ों कॉन्फ़िगरेशनों उपयोगकर्ताओं एप्लिकेशनों"
    assert refusal("Documents and configurations of applications", words, "en", "de") == ""


def test_no_sentence_of_the_demo_document_is_refused() -> None:
    rows = (files("mtloop") / "demo" / DOCUMENT).read_text(encoding="utf-8").splitlines()[1:]
    pairs = [row.split("\t")[:2] for row in rows]
    assert [pair for pair in pairs if refusal(pair[0], pair[1], "en", "de")] == []
    long = [pair for pair in pairs if len(pair[1].split()) > 7]
    refused = [pair for pair in long if refusal(pair[0], pair[1], "en", "it")]
    assert len(refused) > 0.9 * len(long) > 100


def test_the_rules_are_applied_outside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first text loads the detector of languages, which takes half a second."""
    threads: list[threading.Thread] = []

    def rule(*texts: str) -> str:
        threads.append(threading.current_thread())
        return "copied"

    monkeypatch.setattr(project_calls, "refusal", rule)
    project = cast("TranslationProject", SimpleNamespace(source_language="en", target_language="de", review=True))
    event = asyncio.run(project_calls.confirmation(project, "Save", "Save"))
    assert (event.refused, event.waits) == ("copied", False)
    assert threads != [threading.main_thread()]
