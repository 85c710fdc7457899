// The editor of the active segment.
const COMPLETE_MS = 350;

// The seconds that the active segment was shown. The clock stands while the page is hidden.
const segmentClock = {
  seconds: 0,
  since: 0, // when it was started; 0: it stands

  begin() {
    this.seconds = 0;
    this.since = document.hidden ? 0 : performance.now();
  },

  read() {
    return this.seconds + (this.since && (performance.now() - this.since) / 1000);
  },

  follow() {
    this.seconds = this.read();
    this.since = document.hidden ? 0 : performance.now();
  },
};

const editor = {
  index: -1,
  box: null,
  panel: null,
  touched: false,
  completion: "",
  times: [],
  caret: Infinity, // where it was before a click beside the box; Infinity: at the end

  get unit() {
    return units.get(this.index);
  },

  // Whether a person has selected something, or put the caret into the text: it must not change under their hands.
  get isEdited() {
    if (!this.box || document.activeElement !== this.box) return false;
    return !getSelection().isCollapsed || ![null, this.text.length].includes(caretIn(this.box));
  },

  // Whether no field of the page has the focus, as after a click on the source.
  get isLeft() {
    const place = document.activeElement;
    return Boolean(this.box?.isContentEditable) && place !== this.box && place.contains(this.box);
  },

  // Whether a person has selected something in the source, to copy it or to make a term of it.
  get isSourceSelected() {
    const { isCollapsed, anchorNode } = getSelection();
    return this.isLeft && !isCollapsed && rowOf(this.index).querySelector(".source").contains(anchorNode);
  },

  noteCaret() {
    if (!this.box || document.activeElement !== this.box) return;
    const caret = caretIn(this.box) ?? Infinity;
    this.caret = caret < this.text.length ? caret : Infinity;
  },

  takeFocusBack() {
    this.box.focus({ preventScroll: true });
    putCaret(this.box, Math.min(this.caret, this.text.length));
  },

  get text() {
    if (!this.box) return "";
    const isEmptied = this.box.childNodes.length === 1 && this.box.firstChild.nodeName === "BR"; // the browser's own
    return isEmptied ? "" : textOf(this.box);
  },

  async openAt(index) {
    const unit = await list.reach(index);
    if (unit) this.open(index);
  },

  // Shows the active segment as somebody else has changed it. Who is in a field of the page stays there.
  showAnew() {
    const place = document.activeElement;
    this.open(this.index, place === document.body || this.panel.contains(place));
  },

  open(index, takesFocus = true) {
    if (index !== this.index) segmentClock.begin();
    this.close();
    this.caret = Infinity;
    const unit = units.get(index);
    if (!unit) return;
    this.index = index;
    this.touched = Boolean(kept(index) || unit.draft);
    const row = rowOf(index);
    this.panel = this.makePanel(unit);
    row.querySelector(".target").prepend(this.panel);
    this.fill(shownText(unit));
    typing.begin(this.text);
    repaint(index);
    if (takesFocus) row.scrollIntoView({ block: "nearest" });
    if (takesFocus && unit.state !== "locked" && pageData.mayConfirm) {
      this.box.focus({ preventScroll: true });
      putCaret(this.box, this.text.length);
    }
    suggestions.ask();
    listeners.dispatchEvent(new Event("active"));
  },

  close() {
    const index = this.index;
    this.index = -1;
    this.panel?.remove();
    this.panel = this.box = null;
    this.completion = "";
    if (index >= 0) repaint(index);
  },

  makePanel(unit) {
    const panel = element("div", "", "editor");
    this.box = element("div", "", "box");
    Object.assign(this.box, { lang: rows.dataset.target, dir: "auto", spellcheck: true });
    const editable = pageData.mayConfirm && unit.state !== "locked";
    this.box.contentEditable = editable ? "true" : "false";
    this.box.setAttribute("role", "textbox");
    this.box.setAttribute("aria-multiline", "true");
    this.box.setAttribute("aria-label", say("translation_of", { number: unit.index + 1 }));
    this.box.setAttribute("aria-describedby", "completion");
    if (!editable) this.box.setAttribute("aria-readonly", "true");
    this.box.addEventListener("input", (event) => this.changed(event.inputType, event.data));
    this.box.addEventListener("beforeinput", (event) => this.beforeInput(event));
    this.box.addEventListener("paste", (event) => this.insertPlain(event, event.clipboardData));
    this.box.addEventListener("drop", (event) => this.insertPlain(event, event.dataTransfer));
    const completion = element("p", "", "completion");
    completion.id = "completion";
    panel.append(this.box, completion, element("p", "", "pieces"), element("p", "", "problem"), this.buttons(unit));
    panel.querySelector(".problem").setAttribute("role", "alert");
    if (unit.note) panel.append(element("p", `${say("note")}: ${unit.note}`, "note"));
    return panel;
  },

  buttons(unit) {
    const box = element("p", "", "buttons");
    if (!pageData.mayConfirm || unit.state === "locked") return box;
    const reset = element("button", say("reset"));
    const confirm = element("button", say("confirm"), "primary");
    confirm.append(" ", element("kbd", say("keys_confirm")));
    for (const [button, act] of [[reset, () => this.reset()], [confirm, () => this.confirm()]]) {
      button.type = "button";
      button.addEventListener("click", (event) => { event.stopPropagation(); act(); });
      box.append(button);
    }
    return box;
  },

  fill(text) {
    const caret = document.activeElement === this.box ? caretIn(this.box) : null;
    showParts(this.box, partsOf(text, piecesOf(this.unit)));
    this.padEnd();
    if (caret !== null) putCaret(this.box, Math.min(caret, text.length));
    this.paintPieces();
    paintLearned();
  },

  // A line end or a chip at the end needs something behind it, so that the caret can stand there.
  padEnd() {
    const last = this.box.lastChild;
    const needs = last && (last.dataset?.piece !== undefined || (last.data ?? "").endsWith("\n"));
    if (last?.dataset?.end !== undefined || !needs) return;
    const end = document.createElement("br");
    end.dataset.end = "";
    this.box.append(end);
  },

  // A new suggestion came; it replaces the text if nobody has touched it.
  suggested(untouched) {
    if (untouched && isSuggested(this.unit)) {
      this.fill(this.unit.suggestion.translation);
      typing.begin(this.text);
    } else this.paintPieces();
    listeners.dispatchEvent(new Event("suggestion"));
  },

  // A person changed the text: by typing of a `kind`, or with a tool of the page.
  changed(kind, data) {
    typing.note(this.text, caretIn(this.box) ?? this.text.length, kind, data);
    this.touched = true;
    this.chipTypedPieces();
    this.panel.querySelector(".problem").replaceChildren();
    this.paintPieces();
    this.showCompletion("");
    typed(this.unit, this.text);
    completeSoon();
    paintLearned();
  },

  chipTypedPieces() {
    const pieces = piecesOf(this.unit);
    const isTyped = (node) => node.nodeType === Node.TEXT_NODE && pieces.some((piece) => node.data.includes(piece.text));
    const strange = (node) => node.nodeType === Node.ELEMENT_NODE && node.dataset.piece === undefined && node.nodeName !== "BR";
    if ([...this.box.childNodes].some((node) => isTyped(node) || strange(node))) this.fill(this.text);
    else this.padEnd();
  },

  beforeInput(event) {
    if (event.inputType === "insertParagraph" || event.inputType === "insertLineBreak") {
      event.preventDefault();
      this.insert("\n");
    } else if (/^history(Undo|Redo)$/.test(event.inputType)) {
      event.preventDefault();
      this.goBack(event.inputType === "historyUndo" ? -1 : 1);
    } else if (event.inputType.startsWith("format")) event.preventDefault();
  },

  // Takes the last change of the text back, or with 1 makes it again.
  goBack(by) {
    const step = typing.go(by);
    if (!step) return;
    this.fill(step.text);
    putCaret(this.box, step.caret);
    this.changed();
  },

  insertPlain(event, data) {
    event.preventDefault();
    this.insert(data.getData("text/plain").replaceAll("\r\n", "\n"));
  },

  // Inserts a text in place of the selection.
  insert(text) {
    this.box.focus();
    const selection = getSelection();
    const range = selection.getRangeAt(0);
    range.deleteContents();
    const start = caretIn(this.box) ?? this.text.length;
    const whole = this.text;
    this.fill(whole.slice(0, start) + text + whole.slice(start));
    putCaret(this.box, start + text.length);
    this.changed();
  },

  reset() {
    if (!this.unit.suggestion) return;
    this.fill(this.unit.suggestion.translation);
    this.changed();
    this.box.focus();
  },

  paintPieces() {
    this.box.dataset.coming = isSuggested(this.unit) && !this.unit.suggestion ? say("coming") : "";
    const line = this.panel.querySelector(".pieces");
    const pieces = piecesOf(this.unit);
    const { missing } = comparedPieces(this.unit, this.text);
    line.replaceChildren();
    if (!missing.length || this.unit.state === "locked") return;
    line.append(element("span", say("missing_chips")));
    for (const piece of missing) {
      const button = element("button", piece.text, "chip");
      button.type = "button";
      button.setAttribute("aria-label", say("insert_chip", { text: piece.text }));
      button.append(element("kbd", `Alt ${pieces.indexOf(piece) + 1}`));
      button.addEventListener("mousedown", (event) => event.preventDefault()); // the caret stays where it is
      button.addEventListener("click", (event) => { event.stopPropagation(); this.insertAtCaret(piece.text); });
      line.append(button);
    }
  },

  insertAtCaret(text) {
    if (caretIn(this.box) === null) {
      this.box.focus();
      putCaret(this.box, this.text.length);
    }
    this.insert(text);
  },

  insertPiece(number) {
    const piece = piecesOf(this.unit)[number - 1];
    if (piece) this.insertAtCaret(piece.text);
  },

  async complete() {
    const [unit, caret] = [this.unit, this.box ? caretIn(this.box) : null];
    const prefix = this.text;
    if (!unit || !prefix.trim() || caret !== prefix.length) return; // what stands behind the caret would be lost
    const answer = await request("POST", `${documentUrl}/units/${unit.index}/complete`, { prefix });
    if (answer.status !== 200 || this.unit !== unit || this.text !== prefix || caretIn(this.box) !== caret) return;
    const whole = answer.body.translation;
    if (whole.startsWith(prefix) && whole !== prefix) this.showCompletion(whole.slice(prefix.length));
  },

  showCompletion(text) {
    this.completion = text;
    const line = this.panel.querySelector(".completion");
    line.replaceChildren();
    if (text) line.append(element("kbd", "Tab"), element("span", say("complete_with"), "hidden"), element("span", ` ${text}`, "ghost"));
  },

  takeCompletion() {
    const whole = this.text + this.completion; // a change of the text drops the completion, so it fits
    this.showCompletion("");
    this.fill(whole);
    putCaret(this.box, whole.length);
    this.changed();
  },

  refuse(reason, mayInsist) {
    const line = this.panel.querySelector(".problem");
    line.replaceChildren(element("span", reason));
    if (!mayInsist) return;
    const button = element("button", say("confirm_anyway"), "small");
    button.type = "button";
    button.addEventListener("click", (event) => { event.stopPropagation(); this.confirm(true); });
    line.append(" ", button);
  },

  async confirm(force = false) {
    const [unit, text] = [this.unit, this.text];
    if (!unit || unit.state === "locked" || !pageData.mayConfirm || !text.trim()) return;
    const seconds = segmentClock.read();
    const done = await confirmUnit(unit, text, { suggestion: unit.suggestion?.translation ?? "", force });
    if (done === "refused" || done === "edited") return;
    this.times.push(seconds);
    if (this.index === unit.index) await this.openNext(unit.index);
  },

  // Opens the next open segment after one; at the end of the document, the first.
  async openNext(index) {
    const isOpen = (unit) => unit.index !== index && unit.state === "open" && !unit.waiting;
    const near = shownUnits().find((unit) => unit.index > index && isOpen(unit));
    if (near) return this.open(near.index);
    for (const start of [index, -1]) {
      const answer = await request("GET", `${documentUrl}/units?filter=open&limit=${PAGE}&after=${start}`);
      if (!succeeded(answer)) return undefined;
      const found = answer.body.units.find((unit) => unit.index !== index && !kept(unit.index)?.confirm);
      if (found) return this.openAt(found.index);
    }
    this.close();
    tell(say("all_done"));
    return byId("download").focus();
  },

  step(by) {
    const row = rowOf(this.index);
    let next = by > 0 ? row?.nextElementSibling ?? (row ? null : rows.firstElementChild) : row?.previousElementSibling;
    while (next && units.get(Number(next.dataset.index)).state === "locked") next = by > 0 ? next.nextElementSibling : next.previousElementSibling;
    if (next) this.open(Number(next.dataset.index));
  },
};

const completeSoon = after(COMPLETE_MS, () => editor.complete());
