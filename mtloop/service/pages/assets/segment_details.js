// Beside the active segment: the corrections a suggestion comes from, the glossary, the base model, the concordance.
function paintDetails() {
  const suggestion = editor.unit?.suggestion;
  byId("origins").replaceChildren(...(suggestion ? origins(suggestion) : []));
  byId("terms").replaceChildren(...(suggestion ? terms(suggestion) : []));
  paintBase();
}

function origins(suggestion) {
  if (suggestion.repeated) return [element("p", say("repeated_help"), "note"), ...suggestion.corrections.map(origin)];
  return suggestion.corrections.length ? suggestion.corrections.map(origin) : [element("p", say("no_corrections_used"), "note")];
}

function origin(one) {
  const card = element("article", "", "card");
  card.append(textLine(one.source, rows.dataset.source), textLine(one.translation, rows.dataset.target));
  card.append(element("p", say("similar", { percent: Math.round(one.similarity * 100) }), "note"));
  if (one.words.length) card.append(element("p", say("learned_words", { words: one.words.join(", ") }), "note words"));
  return card;
}

function textLine(text, language) {
  const line = element("p", text, "text");
  line.lang = language;
  line.dir = "auto";
  return line;
}

function terms(suggestion) {
  if (!suggestion.terms.length) return [element("p", say("no_terms"), "note")];
  return suggestion.terms.map((term) => {
    const line = element("p", "", "term");
    line.append(textSpan(term.source, rows.dataset.source), " → ", textSpan(term.target, rows.dataset.target));
    return line;
  });
}

function textSpan(text, language) {
  const span = element("span", text);
  span.lang = language;
  return span;
}

// What the model says that never learned.
async function paintBase() {
  const unit = editor.unit;
  byId("base-part").hidden = !byId("compare").checked || !unit;
  if (byId("base-part").hidden || unit.state === "locked") return;
  if (unit.base === undefined) {
    byId("base-text").textContent = say("loading");
    const answer = await request("POST", `${documentUrl}/suggestions`, { units: [unit.index], base: true });
    if (!succeeded(answer)) return;
    unit.base = answer.body.suggestions[0]?.translation ?? "";
  }
  if (editor.unit !== unit) return;
  const isSame = unit.base === unit.suggestion?.translation;
  byId("base-text").replaceChildren(...(isSame ? [say("base_same")] : comparedWords(unit.base, unit.suggestion?.translation)));
}

// A text with the words marked that another text does not have.
function comparedWords(text, other) {
  const known = other === undefined ? null : wordsOf(other);
  return text.split(/([\p{L}\p{N}\p{M}'’-]+)/u).map((part, number) => (number % 2 && known && !known.has(part) ? element("mark", part) : part));
}

const selectedText = (within) => {
  const selection = getSelection();
  const inside = selection.rangeCount && within?.contains(selection.anchorNode);
  return inside ? textOf(selection.getRangeAt(0).cloneContents()).trim().slice(0, 200) : "";
};

function fillTerm() {
  const row = rowOf(editor.index);
  const [source, target] = [selectedText(row?.querySelector(".source")), selectedText(editor.box)];
  if (source) byId("term-source").value = source;
  if (target) byId("term-target").value = target;
}

function openTermForm() {
  fillTerm();
  byId("term-box").open = true;
  byId(byId("term-source").value ? "term-target" : "term-source").focus();
}

async function addTerm() {
  const terms = { [byId("term-source").value.trim()]: byId("term-target").value.trim() };
  if (!succeeded(await request("PATCH", `${projectUrl}/glossary`, { terms }))) return;
  byId("term-form").reset();
  byId("term-box").open = false;
  tell(say("term_added"));
  suggestions.renew();
  if (!editor.box) return;
  editor.box.focus();
  putCaret(editor.box, editor.text.length); // an untouched text takes the new suggestion
}

async function searchCorrections() {
  const text = byId("concordance").value.trim();
  if (!text) return byId("hits").replaceChildren();
  const answer = await request("GET", `${projectUrl}/corrections?${new URLSearchParams({ search: text, limit: 20 })}`);
  if (!succeeded(answer)) return undefined;
  const hits = answer.body.corrections.map((one) => hit(one, text));
  return byId("hits").replaceChildren(...(hits.length ? hits : [element("p", say("no_hits"), "note")]));
}

function hit(one, text) {
  const card = element("article", "", "card");
  for (const [content, language] of [[one.source, rows.dataset.source], [one.translation, rows.dataset.target]]) {
    const line = textLine("", language);
    line.append(...marked(content, text));
    card.append(line);
  }
  const state = one.state === "undone" ? ` · ${say("undone")}` : "";
  card.append(element("p", `${one.document}${one.participant ? ` · ${one.participant}` : ""}${state}`, "note"));
  return card;
}

// A text with a searched text marked in it.
function marked(content, text) {
  const found = [];
  const small = content.toLowerCase();
  let start = 0;
  for (let at = small.indexOf(text.toLowerCase()); at >= 0; at = small.indexOf(text.toLowerCase(), start)) {
    found.push(content.slice(start, at), element("mark", content.slice(at, at + text.length)));
    start = at + text.length;
  }
  return [...found, content.slice(start)];
}

function openConcordance() {
  const row = rowOf(editor.index);
  const text = selectedText(row);
  if (text) byId("concordance").value = text;
  byId("concordance").focus();
  if (text) searchCorrections();
}
