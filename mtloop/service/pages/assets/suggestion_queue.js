// Suggestions of the engine: first for the active segment, then for open segments in view, a few at a time.
const AT_ONCE = 5;
const MOST_UNSEEN = 50; // as many are asked for again out of sight, after each lesson
const REBUILDING_MS = 1500;
const FAILED_MS = 4000;

const suggestions = {
  inView: new Set(),
  era: 0, // counts what was learned; a suggestion of an earlier era is asked for again
  running: false,
  rebuilding: false, // an answer of this era came before the service had learned everything
  renewal: 0, // the timer
  retry: 0, // the timer
  place: 0, // the segment that was active last

  // During a rebuild an old suggestion is as good as what the service would answer.
  wants(index) {
    const unit = units.get(index);
    return unit && unit.state === "open" && unit.era !== this.era && !(this.rebuilding && unit.suggestion);
  },

  // Something was learned or undone.
  renew() {
    clearTimeout(this.renewal);
    this.renewal = 0;
    this.rebuilding = false;
    this.era += 1;
    this.ask();
  },

  async ask() {
    if (this.running || stopped) return;
    this.running = true;
    try {
      for (let batch = this.batch(); batch.length; batch = this.batch()) {
        if (!(await this.fetch(batch))) break;
      }
    } finally {
      this.running = false;
    }
    if (this.rebuilding) this.renewal ||= setTimeout(() => this.renew(), REBUILDING_MS);
  },

  askLater() {
    this.retry ||= setTimeout(() => { this.retry = 0; this.ask(); }, FAILED_MS);
  },

  batch() {
    const active = units.get(editor.index);
    if (active) this.place = editor.index;
    if (active && active.state !== "locked" && active.era !== this.era) return [editor.index];
    const open = [...this.inView].sort((one, other) => one - other).filter((index) => this.wants(index));
    return (open.length ? open : this.seen()).slice(0, AT_ONCE);
  },

  // Segments out of sight whose suggestion may have changed, while those that changed are to be shown: the nearest ones.
  seen() {
    if (list.filter !== MARKED || this.rebuilding) return [];
    const known = [...units.values()].filter((unit) => unit.suggestion && unit.state === "open").map((unit) => unit.index);
    known.sort((one, other) => Math.abs(one - this.place) - Math.abs(other - this.place));
    return known.slice(0, MOST_UNSEEN).filter((index) => this.wants(index));
  },

  async fetch(batch) {
    const era = this.era;
    const answer = await request("POST", `${documentUrl}/suggestions`, { units: batch });
    if (answer.status === 413 || answer.status === 422) return this.fetchEach(batch, era);
    if (answer.status !== 200) {
      this.askLater();
      return answer.status === 0 || answer.status >= 500 ? false : succeeded(answer);
    }
    for (const index of batch) if (units.has(index)) units.get(index).era = era;
    let changed = 0;
    for (const one of answer.body.suggestions) changed += Number(keepSuggestion(one));
    if (changed) tell(say("changed_now", { count: changed }));
    if (answer.body.rebuilding) this.rebuilding = true;
    return true;
  },

  // The texts of a batch are too long together: each is asked for alone, and one that is too long gets no suggestion.
  async fetchEach(batch, era) {
    if (batch.length === 1) {
      if (units.has(batch[0])) units.get(batch[0]).era = era;
      return true;
    }
    for (const index of batch) if (!(await this.fetch([index]))) return false;
    return true;
  },
};

// Keeps a suggestion; true if it is another one than before.
function keepSuggestion(one) {
  const unit = units.get(one.index);
  if (!unit) return false;
  const before = unit.suggestion?.translation;
  const changed = before !== undefined && before !== one.translation;
  const untouched = editor.index === unit.index && !editor.touched && !editor.isEdited;
  unit.suggestion = one;
  unit.learnedWords = new Set(one.corrections.flatMap((correction) => correction.words.flatMap((word) => [...wordsOf(word)])));
  if (changed) {
    unit.changed = true;
    const old = wordsOf(before);
    for (const word of wordsOf(one.translation)) if (!old.has(word)) unit.learnedWords.add(word);
  }
  if (isMarked(unit)) list.add(unit);
  repaint(unit.index);
  if (editor.index === unit.index) editor.suggested(untouched);
  return changed && isSuggested(unit);
}

const rowWatcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const index = Number(entry.target.dataset.index);
    if (entry.isIntersecting) suggestions.inView.add(index);
    else suggestions.inView.delete(index);
  }
  suggestions.ask();
}, { rootMargin: "50% 0px" }); // also those that come into view next

function watchRows() {
  rowWatcher.disconnect();
  suggestions.inView.clear();
  for (const row of rows.children) rowWatcher.observe(row);
}
