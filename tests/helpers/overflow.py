"""What does not fit into the width of the window."""

from __future__ import annotations

from playwright.sync_api import Page

PHONE_WIDTH = 380
LONG_WORD = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen"
_FIND = """() => {
  const width = document.documentElement.clientWidth;
  const hides = ({ overflowX, clipPath }) => overflowX !== 'visible' || clipPath !== 'none';
  const isHidden = (element) =>
    element !== document.body && (hides(getComputedStyle(element)) || isHidden(element.parentElement));
  const found = document.documentElement.scrollWidth > width ? ['the page'] : [];
  for (const element of document.body.querySelectorAll('*')) {
    const { left, right, height } = element.getBoundingClientRect();
    const { overflowX, clipPath } = getComputedStyle(element);
    if (right <= 0 || !height || clipPath !== 'none' || isHidden(element.parentElement)) continue;
    const scrolls = ['auto', 'scroll'].includes(overflowX) && element.scrollWidth > element.clientWidth + 1;
    if (right > width + 1 || left < -1 || scrolls) found.push(`${element.tagName} ${element.className} ${element.id}`);
  }
  return found;
}"""


def overflowing(page: Page) -> list[str]:
    """The elements that are wider than the window, or that must be scrolled sideways."""
    return list(page.evaluate(_FIND))
