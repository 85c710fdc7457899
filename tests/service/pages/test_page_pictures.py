"""`make screenshots` makes a picture of every page, and they are committed."""

from __future__ import annotations

from pathlib import Path

import page_pictures
import pytest
from helpers.browser import chromium
from PIL import Image

from mtloop.service.pages import rendering

PICTURES = Path(__file__).parents[3] / "docs" / "images" / "pages"
OTHER_NAMES = {"project_curves": "curves", "no_project": "no-project", "rating": "rate-score"}
PEOPLE = page_pictures.People("", "", "", "")
LINKS = dict.fromkeys(page_pictures.KINDS, "/rate/0")


def pages() -> set[str]:
    """The templates that are whole pages."""
    templates = Path(rendering.__file__).parent / "templates"
    names = {path.stem for path in templates.glob("*.html") if path.read_text("utf-8").startswith("{% extends")}
    return {name for name in names if not name.endswith("_base")}


def pictures() -> set[str]:
    """The names of the pictures of pages that the script makes."""
    return {name for name, *_ in page_pictures._pages(PEOPLE, "/runs/0", "/projects/0", LINKS)}


def test_every_page_is_photographed() -> None:
    assert {OTHER_NAMES.get(name, name) for name in pages()} <= pictures()


def test_every_picture_is_there_and_has_the_size_of_its_look() -> None:
    """Missing ones are made by `make screenshots`."""
    expected = {f"{name}.{look}.png" for name in pictures() for look in page_pictures.LOOKS}
    assert {path.name for path in PICTURES.iterdir()} == expected
    for name in expected:
        size = page_pictures.LOOKS[name.split(".")[1]]["viewport"]
        with Image.open(PICTURES / name) as picture:
            assert picture.size == (size["width"], size["height"]), name


@pytest.mark.slow
def test_the_phone_has_touch_and_nothing_hovers() -> None:
    with chromium() as browser:
        for look, options in page_pictures.LOOKS.items():
            page = browser.new_context(**options).new_page()
            media = page.evaluate("[matchMedia('(hover: none)').matches, matchMedia('(pointer: coarse)').matches]")
            assert media == [look == "phone"] * 2
            assert (page.evaluate("navigator.maxTouchPoints") > 0) == (look == "phone")
