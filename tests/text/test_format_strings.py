"""Format strings: conversions are those that gettext finds, and a translation gets what its program needs."""

from __future__ import annotations

import pytest

from mtloop.text.protected.format_strings import fit_formats, format_failure
from mtloop.text.text_unit import TextUnit


@pytest.mark.parametrize(
    ("flag", "source", "translation", "fitted"),
    [
        ("c", "%d percent", "%d %", "%d %%"),
        ("c", "%d%% of %s", "%d %% von %s", "%d %% von %s"),
        ("c", "%d%% of %s", "%d%% % von %s", "%d%% %% von %s"),
        ("python", "%(n)d percent (%(of)s)", "%(n)d % (%(of)s)", "%(n)d %% (%(of)s)"),
        ("c", "5% (%s)", "5 % (%s)", "5 % (%s)"),  # not a format string, so msgfmt checks nothing
        ("python-brace", "Use {name}", "{name} nutzen {", "{name} nutzen {{"),
        ("python-brace", "Use {{x}} {name}", "{{x}} {name} }", "{{x}} {name} }}"),
        ("qt", "%1 of it", "%1 % davon", "%1 % davon"),
    ],
)
def test_signs_that_stand_for_themselves_are_doubled(flag: str, source: str, translation: str, fitted: str) -> None:
    assert fit_formats(source, translation, [f"{flag}-format"]) == fitted
    assert format_failure(source, fitted, [f"{flag}-format"]) == ""


@pytest.mark.parametrize(
    ("flag", "source", "translation", "is_good"),
    [
        ("c", "%s has %d", "%d hat %s", False),
        ("c", "%s has %d", "%2$d hat %1$s", True),
        ("c", "%s has %*d", "%s hat %*d", True),
        ("c", "%s has %d", "%s hat %i", True),
        ("c", "%s has %d", "%s hat %ld", False),
        ("c", "%s has %d", "%s hat", False),
        ("c", "%lu of %<PRIu64>", "%lu von %<PRIu64>", True),
        ("c", "100% of %s", "100 %% von %s", False),  # `% o` is a conversion
        ("objc", "Open %@", "%@ öffnen", True),
        ("python", "%(a)s and %(b)s", "%(b)s und %(a)s", True),
        ("python", "%(a)s and %(b)s", "%(b)s und %(c)s", False),
        ("php", "%1$s of %2$d", "%2$d von %1$s", True),
        ("php", "%'*10s of %d", "%'*10s von %d", True),
        ("lua", "%q", "%q", True),
        ("lua", "%q", "%1$q", False),
        ("awk", "%s", "%d", False),
        ("perl", "%s", "%s %", False),
        ("javascript", "%j", "%j", True),
        ("python-brace", "{a} and {0}", "{0} und {a!r:>10}", True),
        ("python-brace", "{a}", "{a} {b}", False),
        ("python-brace", "{a}", "{a", False),
        ("no-c", "%d", "%s", True),
        ("possible-c", "%d", "%s", True),
    ],
)
def test_conversions_are_those_of_the_source(flag: str, source: str, translation: str, is_good: bool) -> None:
    assert (format_failure(source, translation, [f"{flag}-format"]) == "") is is_good


def test_placeholders_that_count_by_their_order_keep_it() -> None:
    """The program fills in %s and %d by their order, whatever the sentence says, so such a text needs a review."""
    unit = TextUnit.of("Copy %s to %d as %(name)s with %s.")
    assembled = unit.assemble(["Mit %4 nach %2 als %3 von %1."])
    assert assembled.text == "Mit %s nach %d als %(name)s von %s."
    assert assembled.repaired == ("%s", "%s")
    assert TextUnit.of("{} of {}").assemble(["%1 von %2"]).repaired == ()
    assert TextUnit.of("{a} of {b}").assemble(["%2 von %1"]).text == "{b} von {a}"
