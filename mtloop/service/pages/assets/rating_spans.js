// Error spans after MQM: words are selected by keyboard, mouse or touch, then a category and a severity are chosen.
const WHOLE = "non-translation";
const SEVERITY_KEYS = { 1: "minor", 2: "major", 3: "neutral" };
const WORST_FIRST = ["major", "minor", "neutral"];

// Words of a text with their place: [{start, end, word}], also of languages without spaces.
function wordsOf(text) {
  if (typeof Intl.Segmenter !== "function") {
    return [...text.matchAll(/\s+|[\p{L}\p{N}\p{M}]+|./gsu)].map((match) => piece(match.index, match[0]));
  }
  const segments = new Intl.Segmenter(undefined, { granularity: "word" }).segment(text);
  return [...segments].map((one) => piece(one.index, one.segment));
}

function piece(start, text) {
  return { start, end: start + text.length, word: text.trim() !== "" };
}

// Python counts code points, JavaScript counts UTF-16 units.
function toCodePoints(text, place) {
  return [...text.slice(0, place)].length;
}

class SpansAnswer {
  constructor(item, texts, changed) {
    this.texts = texts;
    this.changed = changed;
    this.cards = makeCards("mqm-card", item.translations, texts);
    this.parts = this.cards.map((card, index) => new SpannedText(card, item.translations[index].text, optionName(index), texts, changed));
  }

  #focused() {
    return this.parts.find((part) => part.card.contains(document.activeElement)) ?? this.parts.find((part) => part.selection) ?? this.parts[0];
  }

  onKey(event) { return this.#focused().onKey(event); }
  next() { return false; }
  focus() { this.parts[0].box.focus({ preventScroll: true }); }
  answer() { return this.parts.some((part) => part.selection) ? null : { spans: this.parts.map((part) => part.spans()) }; }
  draft() { return this.parts.map((part) => part.errors); }
  restore(errors) { errors.forEach((those, index) => this.parts[index]?.restore(those)); }
  missing() { return this.texts.choose_category; }

  saveText() {
    const count = this.parts.reduce((sum, part) => sum + part.errors.length, 0);
    if (count === 0) return this.texts.save_clean;
    return count === 1 ? this.texts.save_errors_one : filled(this.texts.save_errors, { count });
  }
}

class SpannedText {
  constructor(card, text, option, texts, changed) {
    Object.assign(this, { card, text, option, texts, changed, errors: [], selection: null, category: "", at: -1, anchor: -1 });
    this.words = wordsOf(text).filter((one) => one.word);
    this.box = card.querySelector(".words");
    this.picker = card.querySelector(".picker");
    this.box.setAttribute("aria-label", filled(texts.choose_words, { option }));
    this.picker.setAttribute("aria-label", texts.category);
    this.#listen();
    this.paint();
  }

  #listen() {
    this.box.addEventListener("pointerup", (event) => this.#pointed(event));
    this.box.addEventListener("focus", () => { if (this.at < 0 && this.box.matches(":focus-visible")) this.#moveTo(0, false, false); });
    this.picker.querySelector(".cancel").addEventListener("click", () => this.drop());
    for (const button of this.picker.querySelectorAll("[data-category]")) {
      button.addEventListener("click", () => this.choose(button.dataset.category));
    }
    for (const button of this.picker.querySelectorAll("[data-severity]")) {
      button.addEventListener("click", () => this.add(button.dataset.severity));
    }
  }

  // Selected text, exactly; or the word under the pointer. A second tap, or Shift, selects up to that word.
  #pointed(event) {
    const selected = getSelection();
    const range = selected.rangeCount ? selected.getRangeAt(0) : null;
    if (range && !selected.isCollapsed && this.box.contains(range.commonAncestorContainer)) {
      this.select(this.#trimmed(this.#placeOf(range.startContainer, range.startOffset), this.#placeOf(range.endContainer, range.endOffset)));
      return;
    }
    const option = event.target.closest("[role=option]");
    if (!option) return;
    const found = this.words.findIndex((word) => word.end > Number(option.dataset.start));
    const extend = this.selection !== null && (event.shiftKey || event.pointerType === "touch");
    this.#moveTo(found, extend, true);
  }

  #placeOf(node, offset) {
    const before = document.createRange();
    before.selectNodeContents(this.box);
    before.setEnd(node, offset);
    return before.toString().length;
  }

  #trimmed(start, end) {
    const text = this.text.slice(start, end);
    return { start: start + text.length - text.trimStart().length, end: end - text.length + text.trimEnd().length };
  }

  // Move the cursor to a word, and select it or everything from the anchor to it.
  #moveTo(index, extend, select = true) {
    if (this.words.length === 0) return;
    this.at = Math.min(Math.max(index, 0), this.words.length - 1);
    if (!extend || this.anchor < 0) this.anchor = this.at;
    const [first, last] = [Math.min(this.anchor, this.at), Math.max(this.anchor, this.at)];
    if (select) this.select({ start: this.words[first].start, end: this.words[last].end });
    else this.paint();
  }

  select(span) {
    if (span.end <= span.start) return;
    this.selection = span;
    const opened = this.picker.hidden;
    this.picker.hidden = false;
    this.picker.querySelector("q").textContent = this.text.slice(span.start, span.end);
    this.paint();
    this.changed();
    if (opened) this.picker.scrollIntoView({ block: "nearest" });
  }

  drop() {
    this.selection = null;
    this.choose("");
    this.picker.hidden = true;
    getSelection().removeAllRanges();
    this.paint();
    this.box.focus();
    this.changed();
  }

  choose(category) {
    this.category = category;
    for (const button of this.picker.querySelectorAll("[data-category]")) {
      button.setAttribute("aria-pressed", String(button.dataset.category === category));
    }
    if (category === WHOLE) this.add("major");
    else if (category) this.picker.querySelector("[data-severity]").focus();
  }

  add(severity) {
    if (!this.category) {
      tell(this.texts.choose_category);
      return;
    }
    const place = this.category === WHOLE ? { start: 0, end: this.text.length } : this.selection;
    const error = { ...place, category: this.category, severity };
    if (!this.errors.some((one) => JSON.stringify(one) === JSON.stringify(error))) this.errors.push(error);
    tell(filled(this.texts.added, { category: this.texts[error.category], severity: this.texts[severity] }));
    this.drop();
  }

  remove(error) {
    this.errors = this.errors.filter((one) => one !== error);
    tell(this.texts.removed);
    this.paint();
    this.box.focus();
    this.changed();
  }

  restore(errors) {
    this.errors = errors.filter((one) => one.end <= this.text.length);
    this.paint();
    this.changed();
  }

  spans() {
    const place = (at) => toCodePoints(this.text, at);
    return this.errors.map((one) => ({ ...one, start: place(one.start), end: place(one.end) }));
  }

  onKey(event) {
    if (this.selection && this.#pick(event.key)) return true;
    if (event.key === "Escape" && this.selection) this.drop();
    else if (document.activeElement === this.box) return this.#walk(event);
    else return false;
    return true;
  }

  #pick(key) {
    const letter = key.toLowerCase();
    const button = [...this.picker.querySelectorAll("[data-key]")].find((one) => one.dataset.key === letter);
    if (button) this.choose(button.dataset.category);
    else if (key in SEVERITY_KEYS) this.add(SEVERITY_KEYS[key]);
    else return false;
    return true;
  }

  #walk(event) {
    const forward = getComputedStyle(this.box).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
    const backward = forward === "ArrowRight" ? "ArrowLeft" : "ArrowRight";
    const places = { [forward]: this.selection ? this.at + 1 : Math.max(this.at, 0), [backward]: this.at - 1, Home: 0, End: this.words.length - 1 };
    if (event.key in places) this.#moveTo(event.shiftKey && event.key === forward ? this.at + 1 : places[event.key], event.shiftKey);
    else if (event.key === "Delete" || event.key === "Backspace") this.#removeHere();
    else if (event.key === " ") this.#moveTo(this.at, false);
    else return false;
    return true;
  }

  #removeHere() {
    const word = this.words[this.at];
    const error = this.errors.findLast((one) => word && one.start < word.end && word.start < one.end);
    if (!error) return;
    this.selection = null;
    this.picker.hidden = true;
    this.remove(error);
  }

  paint() {
    this.box.replaceChildren(...this.#pieces().map((one, index) => this.#element(one, index)));
    const current = this.words[this.at];
    const active = current && [...this.box.children].find((one) => Number(one.dataset.start) === current.start);
    if (active) {
      active.classList.add("cursor");
      this.box.setAttribute("aria-activedescendant", active.id);
    }
    this.card.querySelector(".hint").hidden = this.selection !== null || this.errors.length > 0;
    this.card.querySelector(".errors").replaceChildren(...this.errors.map((error) => this.#row(error)));
  }

  // The text, cut at words and at the ends of errors and selection.
  #pieces() {
    const marks = [...this.errors, ...(this.selection ? [this.selection] : [])];
    const cuts = new Set(wordsOf(this.text).flatMap((one) => [one.start, one.end]));
    for (const mark of marks) cuts.add(mark.start).add(mark.end);
    const places = [...cuts].sort((one, other) => one - other);
    return places.slice(0, -1).map((start, index) => piece(start, this.text.slice(start, places[index + 1])));
  }

  #element(one, index) {
    const span = document.createElement("span");
    const inside = (mark) => mark !== null && mark.start <= one.start && one.end <= mark.end;
    span.textContent = this.text.slice(one.start, one.end);
    span.dataset.start = one.start;
    span.id = `word-${this.option}-${index}`;
    span.setAttribute("role", one.word ? "option" : "presentation");
    if (one.word) span.setAttribute("aria-selected", String(inside(this.selection)));
    span.classList.toggle("selected", inside(this.selection));
    const severities = this.errors.filter(inside).map((error) => error.severity);
    if (severities.length) span.classList.add(WORST_FIRST.find((one) => severities.includes(one)));
    return span;
  }

  #row(error) {
    const row = document.createElement("li");
    const [quote, button] = [document.createElement("q"), document.createElement("button")];
    quote.textContent = error.category === WHOLE ? this.texts.whole_text : this.text.slice(error.start, error.end);
    quote.dir = "auto";
    const name = document.createElement("span");
    name.textContent = `${this.texts[error.category]}, ${this.texts[error.severity]}`;
    button.type = "button";
    button.textContent = this.texts.remove;
    button.setAttribute("aria-label", filled(this.texts.remove_error, { text: quote.textContent }));
    button.addEventListener("click", () => this.remove(error));
    row.className = error.severity;
    row.append(quote, name, button);
    return row;
  }
}
