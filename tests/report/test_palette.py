from __future__ import annotations

from mtloop.report.palette import DARK, LIGHT, css, series_style


def test_the_palette_has_a_style_for_every_system() -> None:
    styles = [series_style(number) for number in range(40)]
    assert all(one.shade < len(LIGHT) == len(DARK) for one in styles)
    assert len({(one.shade, one.dash) for one in styles[:19]}) == 19
    assert css().count("--series-0:") == 2
    assert ".series-6 { --colour: var(--series-6); }" in css()
