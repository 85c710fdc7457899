// Texts with placeholders and tags. A piece is shown as a chip: it is moved or deleted as a whole, never in part.
const piecesOf = (unit) => unit.parts.filter((part) => part.kind !== "text");

// The parts of a text: the pieces of the source, longest first, and the text between them.
function partsOf(text, pieces) {
  const known = [...new Map(pieces.map((piece) => [piece.text, piece])).values()];
  known.sort((one, other) => other.text.length - one.text.length);
  const parts = [];
  let start = 0;
  for (let at = 0; at < text.length;) {
    const found = known.find((piece) => text.startsWith(piece.text, at));
    if (!found) { at += 1; continue; }
    if (at > start) parts.push({ text: text.slice(start, at), kind: "text" });
    parts.push(found);
    at += found.text.length;
    start = at;
  }
  if (start < text.length) parts.push({ text: text.slice(start), kind: "text" });
  return parts;
}

function chipOf(part) {
  const chip = element("span", part.text, `chip ${part.kind}`);
  chip.dataset.piece = part.text;
  chip.contentEditable = "false";
  return chip;
}

function showParts(box, parts) {
  box.replaceChildren(...parts.map((part) => (part.kind === "text" ? document.createTextNode(part.text) : chipOf(part))));
}

// The text of a line that the browser has put into an element of its own.
function lineOf(block) {
  return block.childNodes.length === 1 && block.firstChild.nodeName === "BR" ? "" : textOf(block);
}

// The exact text of a box or fragment with chips.
function textOf(node) {
  if (node.nodeType === Node.TEXT_NODE) return node.data;
  if (node.nodeType === Node.ELEMENT_NODE && node.dataset.piece !== undefined) return node.dataset.piece;
  if (node.nodeName === "BR") return node.dataset.end === undefined ? "\n" : "";
  return [...node.childNodes].map((child, number) => (number && child.nodeName === "DIV" ? `\n${lineOf(child)}` : textOf(child))).join("");
}

// What a text lacks of the pieces of a source, and what it has too often.
function comparedPieces(unit, text) {
  const pieces = piecesOf(unit);
  const left = partsOf(text, pieces).filter((part) => part.kind !== "text").map((part) => part.text);
  const missing = pieces.filter((piece) => {
    const place = left.indexOf(piece.text);
    if (place >= 0) left.splice(place, 1);
    return place < 0;
  });
  return { missing, extra: left };
}

// What is wrong with the pieces of a text, in words; empty if nothing is.
function brokenText(unit, text) {
  const { missing, extra } = comparedPieces(unit, text);
  const found = [...missing.map((piece) => say("missing_text", { text: piece.text })), ...extra.map((one) => say("extra_text", { text: one }))];
  return found.length ? say("broken_text", { text: found.join("; ") }) : "";
}

// The range of characters in a box, counted as in its text.
function placeIn(box, offset) {
  let left = offset;
  for (const [number, node] of [...box.childNodes].entries()) {
    const length = textOf(node).length;
    if (node.nodeType === Node.TEXT_NODE && left <= length) return [node, left];
    if (left < length || (left === 0 && node.nodeType !== Node.TEXT_NODE)) return [box, number];
    left -= length;
  }
  return [box, box.childNodes.length];
}

function caretIn(box) {
  const selection = getSelection();
  if (!selection.rangeCount || !box.contains(selection.focusNode)) return null;
  const range = document.createRange();
  range.setStart(box, 0);
  range.setEnd(selection.focusNode, selection.focusOffset);
  return textOf(range.cloneContents()).length;
}

function putCaret(box, offset) {
  getSelection().collapse(...placeIn(box, offset));
}

// The ranges of words in the text nodes of a box.
function rangesOf(box, words) {
  const ranges = [];
  for (const node of [...box.childNodes].filter((one) => one.nodeType === Node.TEXT_NODE)) {
    for (const match of node.data.matchAll(/[\p{L}\p{N}\p{M}'’-]+/gu)) {
      if (!words.has(match[0])) continue;
      const range = new Range();
      range.setStart(node, match.index);
      range.setEnd(node, match.index + match[0].length);
      ranges.push(range);
    }
  }
  return ranges;
}

const wordsOf = (text) => new Set(text.match(/[\p{L}\p{N}\p{M}'’-]+/gu) ?? []);
