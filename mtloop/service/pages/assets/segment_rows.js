// A row of the list: number, source, translation, state. The row of the active segment holds the editor.
const rows = byId("rows");
const rowOf = (index) => rows.querySelector(`[data-index="${index}"]`);

function makeRow(unit) {
  const row = element("li", "", "row");
  row.dataset.index = unit.index;
  row.append(element("span", String(unit.index + 1), "number"), cell("source", rows.dataset.source), cell("target", rows.dataset.target));
  showParts(row.querySelector(".source"), unit.parts);
  if (placeText(unit)) row.querySelector(".source").dataset.place = placeText(unit); // shown, and no part of the text
  const target = row.querySelector(".target");
  target.append(element("button", "", "text open-row"), element("span", "", "mark"));
  target.firstChild.type = "button";
  row.addEventListener("mousedown", () => editor.noteCaret());
  row.addEventListener("click", () => {
    if (!getSelection().isCollapsed) return;
    if (editor.index !== unit.index) editor.open(unit.index);
    else if (editor.isLeft) editor.takeFocusBack();
  });
  paintRow(row, unit);
  return row;
}

// What tells a unit from others with the same source: the context of the message, and the form of a plural.
function placeText({ context }) {
  const form = context.plural === undefined ? "" : say("plural_form", { number: context.plural + 1 });
  return [context.msgctxt ?? context.context ?? "", form].filter(Boolean).join(" · ");
}

function cell(kind, language) {
  const made = element("div", "", `${kind} text`);
  made.lang = language;
  made.dir = "auto";
  return made;
}

// The text that a row shows: what was typed, confirmed, in the file, or suggested.
function shownText(unit) {
  if (unit.state === "locked") return unit.target;
  return kept(unit.index)?.text ?? unit.draft?.text ?? (unit.target || unit.suggestion?.translation || "");
}

// The units in the window, in order.
const shownUnits = () => [...rows.children].map((row) => units.get(Number(row.dataset.index)));
const isMarked = (unit) => Boolean(unit.changed) && isSuggested(unit);
const isSuggested = (unit) => unit.state === "open" && !unit.draft && !kept(unit.index) && !unit.target;

function paintRow(row, unit) {
  row.className = `row is-${unit.state}`;
  row.classList.toggle("is-active", editor.index === unit.index);
  row.classList.toggle("is-failing", unit.checks.length > 0);
  row.classList.toggle("is-draft", Boolean(unit.draft || kept(unit.index)));
  row.classList.toggle("is-suggested", isSuggested(unit));
  row.classList.toggle("is-changed", Boolean(unit.changed) && unit.state !== "confirmed");
  const button = row.querySelector(".open-row");
  showParts(button, partsOf(shownText(unit), piecesOf(unit)));
  if (!button.childNodes.length) button.append(element("span", "…", "note"));
  button.disabled = unit.state === "locked";
  button.setAttribute("aria-label", `${say("translation_of", { number: unit.index + 1 })}: ${shownText(unit)} (${stateText(unit)})`);
  const mark = row.querySelector(".mark");
  mark.replaceChildren(element("span", stateText(unit), "state"), ...unit.checks.map(warning));
  if (unit.state === "confirmed" && pageData.mayConfirm) mark.append(undoButton(unit));
}

function warning(check) {
  const made = element("span", pageData.texts[`check_${check.name.replaceAll(" ", "_")}`] ?? check.message, "warning");
  made.title = check.message;
  return made;
}

function undoButton(unit) {
  const button = element("button", say("undo_short"), "small");
  button.type = "button";
  button.setAttribute("aria-label", `${say("undo")}: ${unit.index + 1}`);
  button.addEventListener("click", (event) => { event.stopPropagation(); undoUnit(unit); });
  return button;
}

function stateText(unit) {
  if (unit.waiting) return say("state_waiting");
  if (unit.state === "confirmed" && unit.draft) return `${say("state_confirmed")}, ${say("state_draft")}`;
  if (unit.state === "confirmed") return unit.participant ? say("state_confirmed_by", { name: unit.participant }) : say("state_confirmed");
  if (unit.state === "locked") return say("state_locked");
  if (unit.draft) return unit.draft.participant && unit.draft.participant !== pageData.me ? say("state_draft_by", { name: unit.draft.participant }) : say("state_draft");
  if (kept(unit.index)) return say("state_draft");
  if (unit.changed) return say("state_changed");
  if (unit.fuzzy) return say("state_fuzzy");
  if (unit.state === "translated") return say("state_translated");
  if (unit.suggestion) return say(unit.suggestion.repeated ? "state_repeated" : "state_suggested");
  return say("state_open");
}

function repaint(index) {
  const row = rowOf(index);
  if (row && units.has(index)) paintRow(row, units.get(index));
  paintLearned();
}

// Underlines the words that were just learned, without changing the text.
const paintLearned = after(20, () => {
  if (!globalThis.Highlight) return;
  const ranges = [];
  for (const unit of shownUnits()) {
    if (!unit.learnedWords?.size || unit.state === "confirmed") continue;
    const box = editor.index === unit.index ? editor.box : rowOf(unit.index)?.querySelector(".open-row");
    if (box) ranges.push(...rangesOf(box, unit.learnedWords));
  }
  CSS.highlights.set("learned", new Highlight(...ranges));
});
