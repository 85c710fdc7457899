"""Texts that share rare words."""

from __future__ import annotations

from mtloop.text.similar_texts import MAX_TEXTS_PER_WORD, SimilarTexts


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    common = [f"Open the file number {number}." for number in range(20)]
    texts = SimilarTexts([*common, "The toner is empty."])
    (first, similarity), *_ = texts.most_similar("Open the toner.", 3)
    assert first == 20
    assert 0 < similarity < 1


def test_the_same_text_has_similarity_1_and_of_equal_texts_the_later_comes_first() -> None:
    texts = SimilarTexts(["Replace the toner.", "A page", "Replace the toner."])
    assert texts.most_similar("replace THE toner", 9) == [(2, 1.0), (0, 1.0)]


def test_a_word_in_many_texts_is_ignored() -> None:
    texts = SimilarTexts(["the page"] * (MAX_TEXTS_PER_WORD + 1))
    assert texts.most_similar("the page", 5) == []


def test_no_common_word_and_no_text() -> None:
    assert SimilarTexts(["A page"]).most_similar("Toner", 5) == []
    assert SimilarTexts([]).most_similar("Toner", 5) == []
    assert SimilarTexts(["A page"]).most_similar("", 5) == []


def test_scripts_without_spaces() -> None:
    texts = SimilarTexts(["打印机缺纸", "关闭文件"])
    assert [number for number, _ in texts.most_similar("打印纸张", 5)] == [0]
