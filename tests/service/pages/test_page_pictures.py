"""`make screenshots` makes a picture of every page."""

from __future__ import annotations

from pathlib import Path

import page_pictures

from mtloop.service.pages import rendering

OTHER_NAMES = {"project_curves": "curves", "no_project": "no-project", "rating": "rate-score"}


def pages() -> set[str]:
    """The templates that are whole pages."""
    templates = Path(rendering.__file__).parent / "templates"
    names = {path.stem for path in templates.glob("*.html") if path.read_text("utf-8").startswith("{% extends")}
    return {name for name in names if not name.endswith("_base")}


def test_every_page_has_a_picture() -> None:
    links = dict.fromkeys(page_pictures.KINDS, "/rate/0")
    people = page_pictures.People("", "", "", "")
    pictures = {name for name, *_ in page_pictures._pages(people, "/runs/0", "/projects/0", links)}
    assert {OTHER_NAMES.get(name, name) for name in pages()} <= pictures
