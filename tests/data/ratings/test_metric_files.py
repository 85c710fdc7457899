"""Joining human and automatic scores. Every automatic score encodes its segment, so a wrong join is visible."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from mtloop.core.errors import InputError
from mtloop.data import Ratings, read_ratings

TEST_SET = [("news.7", 4), ("blog.2", 5), ("mail_9.1", 3)]  # documents in the order of the test set, and their lengths
SYSTEMS = ["Huawei_TSC.5", "Human-A.0", "UEDIN.3"]


def metric_file(
    systems: Iterable[str] = SYSTEMS, metric: str = "chrF", reference: str = "test20", sign: int = 1
) -> str:
    """Return automatic scores of 10 * line number in the test set + index of the system."""
    rows = []
    for index, system in enumerate(systems):
        line = 0
        for document, length in TEST_SET:
            for segment in range(1, length + 1):
                line += 1
                score = sign * (10 * line + index)
                rows.append(f"{metric}\ten-de\ttest20\t{reference}\t{system}\t{document}\t{segment}\t{score}")
    return "\n".join(rows) + "\n"


def human_file(segments: Iterable[str], systems: Iterable[str] = ("Huawei-TSC.5", "HUMAN-A", "UEDIN.3")) -> str:
    """Return human scores in the format of WMT, with spaces at the ends of lines."""
    rows = [f"{system} {segment} {70 + n} 0.{n} 1 " for system in systems for n, segment in enumerate(segments)]
    return "\n".join(["SYS SID RAW.SCR Z.SCR N ", *rows]) + "\n"


def document_indices(first: int) -> list[str]:
    return [f"{document}_{first + index}" for document, length in TEST_SET for index in range(length)]


@pytest.fixture
def join(write):
    def _join(human: str, metrics: str, **choices) -> Ratings:
        return read_ratings(write("human.csv", human), metrics=write("metrics.tsv", metrics), **choices)

    return _join


def test_document_and_index_from_0(join) -> None:
    """If the index were read as counting from 1, nine of twelve segments would be joined with the wrong segment."""
    wrong = set(document_indices(0)) & set(document_indices(1))
    assert len(wrong) / len(document_indices(0)) == 0.75
    ratings = join(human_file(document_indices(0)), metric_file())
    assert ratings.segments == tuple(document_indices(0))
    np.testing.assert_array_equal(ratings.metrics["chrF"][0], [10 * line for line in range(1, 13)])
    np.testing.assert_array_equal(ratings.metrics["chrF"][2], [10 * line + 2 for line in range(1, 13)])
    assert "36 of 36 human scores (100.0%) have metric scores" in ratings.notes


def test_one_row_far_inside_a_document(join) -> None:
    """The third segment of the second document is line 7 of the test set, index 6."""
    ratings = join(human_file(["blog.2_2"], ["UEDIN.3"]), metric_file())
    index = ratings.segments.index("blog.2_2")
    assert index == 6
    assert ratings.scores[0, index] == 70
    assert ratings.metrics["chrF"][0, index] == 72
    assert ratings.documents["blog.2_2"] == "blog.2"


def test_index_from_1_is_detected(join) -> None:
    with pytest.raises(
        InputError, match=r"counts from 0, but no index is 0 and 'news.7_4' is one beyond the end of its document"
    ):
        join(human_file(document_indices(1)), metric_file())


def test_line_number_from_1(join) -> None:
    ratings = join(human_file(["12", "5", "1"], ["UEDIN.3"]), metric_file())
    assert ratings.segments == tuple(str(line) for line in range(1, 13))
    np.testing.assert_array_equal(ratings.metrics["chrF"][0], [10 * line + 2 for line in range(1, 13)])
    assert [ratings.segment_scores(line) for line in ("1", "5", "12")] == [
        {"UEDIN.3": 72},
        {"UEDIN.3": 71},
        {"UEDIN.3": 70},
    ]
    assert ratings.documents["5"] == "blog.2"


def test_line_number_from_0_is_detected(join) -> None:
    with pytest.raises(InputError, match="line numbers count from 1, but there is a segment 0"):
        join(human_file([str(line) for line in range(12)]), metric_file())


def test_other_segment_names_cannot_be_joined(join) -> None:
    with pytest.raises(InputError, match="neither line numbers nor DOCUMENT_INDEX, for example 'first'"):
        join(human_file(["first"]), metric_file())


def test_metric_segments_from_0_are_detected(join) -> None:
    metrics = metric_file().replace("\t1\t10\n", "\t0\t10\n", 1)
    with pytest.raises(InputError, match=r"metrics.tsv:1: segment 0 of 'news.7'; expected 1, counting from 1"):
        join(human_file(["1"]), metrics)


def test_a_segment_missing_for_the_first_system(join) -> None:
    metrics = metric_file(["UEDIN.3"]) + "chrF\ten-de\ttest20\ttest20\tOPPO.1\tnews.7\t5\t1\n"
    with pytest.raises(
        InputError, match=r"metrics.tsv:13: segment 5 of 'news.7', which system 'UEDIN.3' does not have"
    ):
        join(human_file(["1"]), metrics)


def test_similar_system_names_are_matched(join) -> None:
    systems = ["HUMAN-A", "Huawei-TSC.5", "uedin.3"]
    ratings = join(human_file(["1"], systems), metric_file())
    assert ratings.systems == tuple(systems)
    np.testing.assert_array_equal(ratings.metrics["chrF"][:, 0], [11, 10, 12])


def test_different_system_names_need_a_mapping(join) -> None:
    human = human_file(["1", "2"], ["HUMAN-C", "UEDIN.3"])
    ratings = join(human, metric_file())
    assert ratings.notes == (
        "2 of 4 human scores (50.0%) have metric scores, fewer than 90%; check that segments and systems have the same "
        "names in both files",
        "system HUMAN-C (2 human scores) is not in the metric file",
        "systems without human scores left out: Huawei_TSC.5, Human-A.0",
    )
    mapped = join(human, metric_file(), names={"HUMAN-C": "Human-A.0"})
    assert mapped.metrics["chrF"][0, 1] == 21
    with pytest.raises(InputError, match="the metric file has no system 'HUMAN-P'"):
        join(human, metric_file(), names={"HUMAN-C": "HUMAN-P"})


def test_ambiguous_system_names_are_not_guessed(join) -> None:
    ratings = join(human_file(["1"], ["a-b.1"]), metric_file(["a_b.1", "A-B.1"]))
    assert ratings.metrics == {}


def test_segments_missing_in_the_metric_file(join) -> None:
    ratings = join(human_file(["12", "13"], ["UEDIN.3"]), metric_file())
    assert ratings.segments[-1] == "13"
    assert "1 segments are not in the metric file" in ratings.notes


def test_the_default_reference_is_that_of_the_test_set(join) -> None:
    other = metric_file(["UEDIN.3"], reference="testB20", sign=7)
    ratings = join(human_file(["3"], ["UEDIN.3"]), metric_file(["UEDIN.3"]) + other)
    assert ratings.metrics["chrF"][0, 2] == 30
    assert "metric scores against other references left out: testB20" in ratings.notes
    chosen = join(human_file(["3"], ["UEDIN.3"]), metric_file(["UEDIN.3"]) + other, reference="testB20")
    assert chosen.metrics["chrF"][0, 2] == 210


def test_ter_stays_negated(join) -> None:
    both = metric_file(["UEDIN.3"]) + metric_file(["UEDIN.3"], "TER", sign=-1)
    ratings = join(human_file(["3"], ["UEDIN.3"]), both)
    assert ratings.metrics["TER"][0, 2] == -30


def test_a_metric_file_without_human_scores(write) -> None:
    ratings = read_ratings(write("metrics.tsv.", metric_file()))
    assert ratings.systems == tuple(SYSTEMS)
    assert ratings.metrics["chrF"].shape == (3, 12)
    assert ratings.coverage == 0
    assert ratings.notes == ("no human scores found",)


@pytest.mark.parametrize(
    ("extra", "choices", "message"),
    [
        (
            "chrF\tde-en\ttest20\ttest20\ta\tnews.7\t1\t1\n",
            {},
            "the file has several language pairs; choose one with --language-pair: de-en, en-de",
        ),
        ("", {"language_pair": "fr-en"}, "no scores for 'fr-en'; choose one with --language-pair: en-de"),
        ("", {"reference": "testZ"}, "no scores for this reference; choose one of: test20"),
        (
            "chrF\ten-de\ttest20\ttest20\ta\tnews.7\tone\t1\n",
            {},
            r":37: expected metric, language pair, .* separated by tabs",
        ),
        ("chrF\ten-de\ttest20\ttest20\ta\tnews.7\t1\tinf\n", {}, r":37: score 'inf' is not a finite number"),
    ],
)
def test_refused(extra: str, choices: dict[str, str], message: str, write) -> None:
    path: Path = write("metrics.tsv", metric_file() + extra)
    with pytest.raises(InputError, match=f"^{path}(: )?{message}"):
        read_ratings(path, **choices)
