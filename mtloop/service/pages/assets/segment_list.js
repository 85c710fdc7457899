// The list holds a window of the document: pages of 50 units, more of them when the reader comes to an end.
const PAGE = 50;
const MOST_ROWS = 300;
const MARKED = "suggestions"; // the filter for suggestions that changed; only this page knows them

const list = {
  filter: "all",
  search: "",
  before: [], // where the pages that are not shown any more begin
  starts: [], // where the pages in the window begin
  next: null,
  change: 0,
  busy: false,
  turn: 0, // counts what was shown: an answer of an earlier search is dropped

  query(start) {
    return new URLSearchParams({ after: start, limit: PAGE, filter: this.filter, search: this.search });
  },

  async page(start) {
    if (this.filter === MARKED) return this.markedPage(start);
    const answer = await request("GET", `${documentUrl}/units?${this.query(start)}`);
    return succeeded(answer) ? answer.body : null;
  },

  markedPage(start) {
    const found = [...units.values()].filter((unit) => unit.index > start && isMarked(unit) && this.hasText(unit));
    found.sort((one, other) => one.index - other.index);
    const shown = found.slice(0, PAGE);
    return { units: shown, next: found.length > PAGE ? shown.at(-1).index : null, change: this.change };
  },

  hasText(unit) {
    return [unit.source, shownText(unit)].some((text) => text.toLowerCase().includes(this.search.toLowerCase()));
  },

  // Adds a unit whose suggestion changed while such units are shown.
  add(unit) {
    if (this.filter !== MARKED || rowOf(unit.index) || !this.hasText(unit)) return;
    const following = [...rows.children].find((row) => Number(row.dataset.index) > unit.index) ?? null;
    if (!following && this.next !== null) return; // it is on the next page
    rows.insertBefore(makeRow(unit), following);
    byId("empty").hidden = true;
    listeners.dispatchEvent(new Event("rows"));
  },

  // Shows the units after an index; `start` is -1 for the first.
  async show(start = -1) {
    this.turn += 1;
    const turn = this.turn;
    const found = await this.page(start);
    if (!found || turn !== this.turn) return;
    editor.close();
    placeDetails(); // they may stand in a row
    rows.replaceChildren();
    this.before = this.filter === "all" && !this.search ? earlierStarts(start) : [];
    this.starts = [start];
    this.next = found.next;
    this.change ||= found.change;
    rows.append(...found.units.map(keepUnit).map(makeRow));
    byId("empty").hidden = found.units.length > 0;
    this.paintEnds();
    listeners.dispatchEvent(new Event("rows"));
  },

  async later() {
    if (this.next === null || this.busy) return;
    this.busy = true;
    const [start, turn] = [this.next, this.turn];
    const found = await this.page(start);
    this.busy = false;
    if (!found || turn !== this.turn) return;
    this.starts.push(start);
    this.next = found.next;
    rows.append(...found.units.map(keepUnit).map(makeRow));
    if (rows.children.length > MOST_ROWS) this.dropFirst();
    this.paintEnds();
    listeners.dispatchEvent(new Event("rows"));
  },

  async earlier() {
    if (!this.before.length || this.busy) return;
    this.busy = true;
    const [start, turn] = [this.before.pop(), this.turn];
    const found = await this.page(start);
    this.busy = false;
    if (turn !== this.turn) return undefined;
    if (!found) return this.before.push(start);
    const first = Number(rows.firstElementChild?.dataset.index ?? Infinity);
    this.starts.unshift(start);
    rows.prepend(...found.units.filter((unit) => unit.index < first).map(keepUnit).map(makeRow));
    if (rows.children.length > MOST_ROWS) this.dropLast();
    this.paintEnds();
    listeners.dispatchEvent(new Event("rows"));
    return undefined;
  },

  dropFirst() {
    const bound = this.starts[1];
    if (bound === undefined || editor.index <= bound) return;
    this.before.push(this.starts.shift());
    this.drop((index) => index <= bound);
  },

  dropLast() {
    const bound = this.starts.at(-1);
    if (this.starts.length < 2 || editor.index > bound) return;
    this.starts.pop();
    this.next = bound;
    this.drop((index) => index > bound);
  },

  drop(isDropped) {
    for (const row of [...rows.children]) {
      if (isDropped(Number(row.dataset.index))) row.remove();
    }
  },

  paintEnds() {
    byId("earlier").hidden = !this.before.length;
    byId("later").hidden = this.next === null;
  },

  // Brings a unit into the window, and returns it.
  async reach(index) {
    if (rowOf(index)) return units.get(index);
    if (this.filter !== "all" || this.search) {
      this.filter = "all";
      this.search = "";
      byId("filter").value = "all";
      byId("search").value = "";
    }
    await this.show(Math.max(-1, Math.floor(index / PAGE) * PAGE - 1));
    return units.get(index);
  },
};

// Where the pages before a start begin, if all units are shown.
function earlierStarts(start) {
  const found = [];
  for (let one = start - PAGE; one > -1 - PAGE && start > -1; one -= PAGE) found.unshift(Math.max(-1, one));
  return found;
}

function keepUnit(unit) {
  recallReplaced(unit);
  const old = units.get(unit.index);
  units.set(unit.index, old ? Object.assign(old, unit) : unit);
  return units.get(unit.index);
}

function watchEnds() {
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((one) => one.isIntersecting)) list[entry.target.id]();
  }, { rootMargin: "300px" });
  for (const id of ["earlier", "later"]) {
    byId(id).addEventListener("click", () => list[id]());
    if (id === "later") watcher.observe(byId(id));
  }
}
