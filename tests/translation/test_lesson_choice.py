"""Which translated units are learned first."""

from __future__ import annotations

from mtloop.core.types import Segment
from mtloop.translation.lesson_choice import TranslatedUnit, choose_lessons


def units(*pairs: tuple[str, str]) -> list[TranslatedUnit]:
    return [TranslatedUnit(Segment(str(number), source), target) for number, (source, target) in enumerate(pairs)]


def ids(chosen: list[TranslatedUnit]) -> list[str]:
    return [unit.segment.id for unit in chosen]


def test_all_units_in_their_order_if_they_are_few() -> None:
    assert ids(choose_lessons(units(("a b", "x"), ("c", "y")), ["d"], 2)) == ["0", "1"]


def test_those_most_similar_to_what_is_to_be_filled_in_their_order() -> None:
    known = units(("Replace the toner.", "1"), ("Open the tray.", "2"), ("Buy a car.", "3"), ("Close the tray.", "4"))
    assert ids(choose_lessons(known, ["The tray is open."], 2)) == ["1", "3"]
    assert ids(choose_lessons(known, ["The tray is open.", "Toner is missing."], 2)) == ["0", "1"]


def test_each_source_gets_a_similar_lesson_before_one_gets_many() -> None:
    known = units(*((f"Print page {word}.", word) for word in "abcdefgh"), ("Replace the toner.", "t"))
    chosen = choose_lessons(known, ["Print page a again.", "Print page b again.", "No toner."], 3)
    assert ids(chosen) == ["0", "1", "8"]


def test_the_newest_of_the_rest_fill_up() -> None:
    known = units(("One", "1"), ("Two", "2"), ("Tray", "3"), ("Three", "4"), ("Four", "5"))
    assert ids(choose_lessons(known, ["A tray"], 3)) == ["2", "3", "4"]


def test_of_equal_units_the_newest_is_learned() -> None:
    known = units(("File", "Datei"), ("Page", "Seite"), ("File", "Datei"), ("File", "Akte"))
    assert ids(choose_lessons(known, [], 9)) == ["1", "2", "3"]


def test_a_copy_of_its_source_is_no_lesson_unless_it_is_a_label_or_protected() -> None:
    texts = ("Open the tray.", "Open  the\ttray. ", "Backend", "URL of the API", "{name} {count}", "Open File")
    copies = [TranslatedUnit(Segment(text, text), " ".join(text.split())).is_copy for text in texts]
    assert copies == [True, True, False, True, False, False]
    assert not TranslatedUnit(Segment("1", "Open the tray."), "Open the tray").is_copy
