"""How well a colour stands out from its ground, as WCAG measures it; run in the page."""

from __future__ import annotations

CONTRAST = """([text, ground]) => {
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const [one, other] = [light(text), light(ground)];
  return Math.max(one, other) / Math.min(one, other);
}"""
