// How a rater answers: a number on a slider, thumbs, or which translation is better.
// An answer has cards(item), answer() or null, restore(answer), onKey(event), focus() and saveText().
const DIGITS_MS = 1500;

function optionName(index) {
  return String.fromCharCode(65 + index);
}

// A card for each translation. The text is set as text, never as HTML.
function makeCards(template, translations, texts) {
  return translations.map((translation, index) => {
    const card = copyOf(template);
    const title = translations.length > 1 ? filled(texts.translation_option, { option: optionName(index) }) : texts.translation;
    card.querySelector("h2").textContent = title;
    card.querySelector(".text").textContent = translation.text;
    return card;
  });
}

class ScoreAnswer {
  constructor(item, texts, changed) {
    this.texts = texts;
    this.changed = changed;
    this.cards = makeCards("score-card", item.translations, texts);
    this.scores = this.cards.map(() => null);
    this.sliders = this.cards.map((card, index) => this.#slider(card, index));
    this.digits = "";
  }

  #slider(card, index) {
    const slider = card.querySelector("input");
    slider.setAttribute("aria-label", filled(this.texts.your_rating, { option: optionName(index) }));
    slider.setAttribute("aria-valuetext", this.texts.not_rated);
    slider.addEventListener("input", () => this.set(index, Number(slider.value)));
    slider.addEventListener("click", () => this.set(index, Number(slider.value)));
    slider.addEventListener("focus", () => { this.digits = ""; });
    return slider;
  }

  set(index, score) {
    this.scores[index] = score;
    this.sliders[index].value = score;
    this.sliders[index].setAttribute("aria-valuetext", `${score} ${this.texts.out_of}`);
    const card = this.cards[index];
    card.querySelector(".value").textContent = score;
    card.querySelector(".slider").classList.remove("unset");
    this.changed();
  }

  #focused() {
    const found = this.sliders.indexOf(document.activeElement);
    return found >= 0 ? found : Math.max(0, this.scores.indexOf(null));
  }

  onKey(event) {
    if (!/^[0-9]$/.test(event.key) && !(event.key === "Backspace" && this.digits)) return false;
    const index = this.#focused();
    if (document.activeElement !== this.sliders[index]) this.sliders[index].focus();
    this.#type(event.key);
    if (this.digits) this.set(index, Number(this.digits));
    return true;
  }

  #type(key) {
    const longer = key === "Backspace" ? this.digits.slice(0, -1) : this.digits + key;
    this.digits = Number(longer) <= 100 && longer.length <= 3 ? longer : key;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { this.digits = ""; }, DIGITS_MS);
  }

  // Enter goes to the next translation without a number; true if there is one.
  next() {
    const open = this.scores.indexOf(null);
    if (open < 0) return false;
    const moved = document.activeElement !== this.sliders[open] && this.scores.some((score) => score !== null);
    this.sliders[open].focus();
    this.digits = "";
    return moved;
  }

  focus() { this.sliders[Math.max(0, this.scores.indexOf(null))].focus({ preventScroll: true }); }
  answer() { return this.scores.includes(null) ? null : { scores: this.scores }; }
  draft() { return this.scores; }
  restore(scores) { scores.forEach((score, index) => { if (score !== null && index in this.cards) this.set(index, score); }); }
  missing() { return this.texts.rate_all; }
  saveText() { return this.texts.save; }
}

class ThumbsAnswer {
  constructor(item, texts, changed) {
    this.texts = texts;
    this.changed = changed;
    this.cards = makeCards("thumbs-card", item.translations, texts);
    this.thumbs = this.cards.map(() => null);
    this.cards.forEach((card, index) => this.#listen(card, index));
  }

  #listen(card, index) {
    const buttons = card.querySelectorAll("[data-good]");
    card.querySelector(".thumbs").setAttribute("aria-label", filled(this.texts.your_rating, { option: optionName(index) }));
    for (const button of buttons) button.addEventListener("click", () => this.set(index, button.dataset.good === "true"));
  }

  set(index, good) {
    this.thumbs[index] = good;
    for (const button of this.cards[index].querySelectorAll("[data-good]")) {
      button.setAttribute("aria-pressed", String((button.dataset.good === "true") === good));
    }
    this.changed();
  }

  #focused() {
    const found = this.cards.findIndex((card) => card.contains(document.activeElement));
    return found >= 0 ? found : Math.max(0, this.thumbs.indexOf(null));
  }

  onKey(event) {
    const good = { 1: true, "+": true, 0: false, "-": false }[event.key];
    if (good === undefined) return false;
    const index = this.#focused();
    this.set(index, good);
    const open = this.thumbs.indexOf(null);
    this.#button(open < 0 ? index : open, open < 0 ? good : true).focus();
    return true;
  }

  #button(index, good) { return this.cards[index].querySelector(`[data-good="${good}"]`); }
  next() { return false; }
  focus() { this.#button(Math.max(0, this.thumbs.indexOf(null)), true).focus({ preventScroll: true }); }
  answer() { return this.thumbs.includes(null) ? null : { thumbs: this.thumbs }; }
  draft() { return this.thumbs; }
  restore(thumbs) { thumbs.forEach((good, index) => { if (good !== null && index in this.cards) this.set(index, good); }); }
  missing() { return this.texts.rate_all; }
  saveText() { return this.texts.save; }
}

class PairAnswer {
  constructor(item, texts, changed) {
    this.texts = texts;
    this.changed = changed;
    this.options = item.translations.map((translation) => translation.option);
    this.cards = makeCards("pair-card", item.translations, texts);
    this.buttons = this.cards.map((card, index) => this.#label(card.querySelector("button"), index));
    this.equal = this.#label(document.createElement("button"), -1);
    this.equal.type = "button";
    this.chosen = undefined; // an index, or -1: no difference
    document.getElementById("choices").replaceChildren(this.equal);
  }

  #label(button, index) {
    const text = index < 0 ? this.texts.equal : filled(this.texts.better, { option: optionName(index) });
    const key = document.createElement("kbd");
    key.textContent = index + 1;
    button.replaceChildren(`${text} `, key);
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => this.set(index));
    return button;
  }

  set(index) {
    this.chosen = index;
    this.buttons.forEach((button, at) => button.setAttribute("aria-pressed", String(at === index)));
    this.cards.forEach((card, at) => card.classList.toggle("chosen", at === index));
    this.equal.setAttribute("aria-pressed", String(index === -1));
    this.changed();
  }

  onKey(event) {
    if (!/^[0-9]$/.test(event.key) || Number(event.key) > this.buttons.length) return false;
    const index = Number(event.key) - 1;
    this.set(index);
    (index < 0 ? this.equal : this.buttons[index]).focus();
    return true;
  }

  next() { return false; }
  focus() { this.buttons[0].focus({ preventScroll: true }); }
  answer() { return this.chosen === undefined ? null : { better: this.chosen < 0 ? null : this.options[this.chosen] }; }
  draft() { return this.chosen; }
  restore(chosen) { if (Number.isInteger(chosen) && chosen < this.cards.length) this.set(chosen); }
  missing() { return this.texts.choose_first; }
  saveText() { return this.texts.save; }
}
