"""JavaScript that computes the WCAG contrast ratio of a text colour and its background colour."""

from __future__ import annotations

CONTRAST = """([text, background]) => {
  const luminance = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const [one, other] = [luminance(text), luminance(background)];
  return Math.max(one, other) / Math.min(one, other);
}"""
