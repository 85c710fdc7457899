// Reading values from a chart, and zooming: by mouse, touch and keyboard.
const MIN_DRAG = 6; // pixels; a shorter movement is a click
const NEAR = 12; // pixels; a series without a point this near has no value there
const ONE_COLUMN = 12; // series; more are listed in two columns
const KEY_ZOOM = 2;
const DOUBLE_CLICK_MS = 250; // a click acts when no second one has followed

class ChartReading {
  // `onChoose(x)` is called for a click on the chart, or Enter.
  constructor(drawing, onChoose = () => {}) {
    this.drawing = drawing;
    this.onChoose = onChoose;
    this.at = null; // the x that is read
    this.dragged = null; // where the mouse went down
    this.choice = 0; // the timer of a click
    this.positions = []; // every visible x at which a series has a point
    this.rule = svgElement("g", { class: "rule" });
    this.selection = svgElement("rect", { class: "selection" });
    this.list = document.createElement("div");
    this.list.className = "reading";
    this.list.hidden = true;
    this.spoken = document.createElement("p");
    this.spoken.className = "spoken";
    this.spoken.setAttribute("role", "status");
    drawing.box.append(this.list, this.spoken);
    drawing.box.addEventListener("drawn", () => this.redrawn());
    this.listen(drawing.svg);
    this.redrawn();
  }

  listen(svg) {
    const handlers = {
      pointerdown: (event) => this.press(event),
      pointermove: (event) => this.move(event),
      pointerup: (event) => this.release(event),
      pointercancel: () => this.endDrag(),
      pointerleave: (event) => event.pointerType === "mouse" && this.show(null),
      dblclick: () => this.doubleClick(),
      keydown: (event) => this.key(event),
      blur: () => this.show(null),
    };
    for (const [name, handler] of Object.entries(handlers)) svg.addEventListener(name, handler);
  }

  get series() {
    return this.drawing.shown.filter((series) => series.read);
  }

  redrawn() {
    const all = new Set(this.series.flatMap((series) => series.x));
    this.positions = [...all].filter((x) => this.drawing.x?.contains(x)).sort((a, b) => a - b);
    this.show(this.at);
  }

  pixel(event) {
    const { left, width } = this.drawing.svg.getBoundingClientRect();
    const [start, end] = this.drawing.x.pixels;
    return Math.min(end, Math.max(start, ((event.clientX - left) * this.drawing.width) / width));
  }

  nearest(pixel) {
    const { x } = this.drawing;
    const { positions } = this;
    return positions.length ? positions[nearestIndex(positions, x.valueAt(pixel), x.change)] : null;
  }

  press(event) {
    if (event.button !== 0) return;
    const pixel = this.pixel(event);
    this.dragged = { from: pixel, to: pixel, touched: event.pointerType === "touch", before: this.at };
    if (!this.dragged.touched) this.drawing.svg.setPointerCapture(event.pointerId);
    this.show(this.nearest(pixel));
  }

  move(event) {
    const pixel = this.pixel(event);
    if (this.dragged) this.dragged.to = pixel;
    if (this.isSelecting) this.select(this.dragged);
    else this.show(this.nearest(pixel));
  }

  release() {
    const { dragged, isSelecting } = this;
    this.endDrag();
    if (!dragged) return;
    if (isSelecting) this.zoomTo(dragged);
    else if (this.at !== null && (!dragged.touched || dragged.before === this.at)) this.choose(this.at);
  }

  choose(x) {
    clearTimeout(this.choice);
    this.choice = setTimeout(() => this.onChoose(x), DOUBLE_CLICK_MS);
  }

  doubleClick() {
    clearTimeout(this.choice);
    this.drawing.zoomOut();
  }

  // A finger that moves sideways reads values; only the mouse selects a range.
  get isSelecting() {
    return Boolean(this.dragged) && !this.dragged.touched && Math.abs(this.dragged.to - this.dragged.from) > MIN_DRAG;
  }

  endDrag() {
    this.dragged = null;
    this.selection.remove();
  }

  select({ from, to }) {
    const [bottom, top] = this.drawing.y.pixels;
    const box = { x: Math.min(from, to), y: top, width: Math.abs(to - from), height: bottom - top };
    for (const [name, value] of Object.entries(box)) this.selection.setAttribute(name, value);
    this.drawing.svg.append(this.selection);
    this.show(null);
  }

  zoomTo({ from, to }) {
    const { x } = this.drawing;
    this.drawing.zoom([x.valueAt(Math.min(from, to)), x.valueAt(Math.max(from, to))]);
  }

  key(event) {
    const action = this.keyAction(event);
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  }

  keyAction({ key, shiftKey }) {
    const by = shiftKey ? 10 : 1;
    return {
      ArrowRight: () => this.step(by),
      ArrowLeft: () => this.step(-by),
      Home: () => this.step(-Infinity),
      End: () => this.step(Infinity),
      "+": () => this.zoomBy(1 / KEY_ZOOM),
      "-": () => this.zoomBy(KEY_ZOOM),
      Escape: () => this.leave(),
      Enter: () => this.at !== null && this.onChoose(this.at),
    }[key];
  }

  step(by) {
    const { positions } = this;
    if (!positions.length) return;
    const now = this.at === null ? (by > 0 ? -1 : positions.length) : nearestIndex(positions, this.at);
    this.show(positions[Math.min(positions.length - 1, Math.max(0, now + by))]);
    this.spoken.textContent = this.list.innerText;
  }

  zoomBy(factor) {
    const { x } = this.drawing;
    const [start, end] = x.pixels;
    const middle = this.at === null ? (start + end) / 2 : x.at(this.at);
    const pixels = [middle - (middle - start) * factor, middle + (end - middle) * factor];
    this.drawing.zoom(pixels.map((pixel) => x.valueAt(pixel)));
  }

  leave() {
    this.show(null);
    if (this.drawing.zoomed) this.drawing.zoomOut();
  }

  // Shows the values at x; null hides them.
  show(x) {
    const visible = x !== null && this.drawing.x?.contains(x) && this.series.length;
    this.at = visible ? x : null;
    this.list.hidden = !visible;
    this.rule.remove();
    if (visible) this.showRows(this.series.map((series) => this.row(series)));
  }

  row(series) {
    const index = nearestIndex(series.x, this.at, this.drawing.x.change);
    const distance = index < 0 ? Infinity : Math.abs(this.drawing.x.at(series.x[index]) - this.drawing.x.at(this.at));
    const value = distance <= NEAR ? series.y[index] : null;
    return { series, value, point: value === null ? null : this.drawing.point(series.x[index], value) };
  }

  showRows(rows) {
    const decimals = decimalsFor(this.drawing.y.range);
    const title = document.createElement("strong");
    const { unit, title: axis } = this.drawing.chart.x;
    title.textContent = `${unit || axis} ${givenTick(this.at).text}`;
    const table = document.createElement("div");
    table.className = rows.length > ONE_COLUMN ? "rows two-columns" : "rows";
    table.append(...rows.map((row) => rowElement(row, decimals)));
    this.list.replaceChildren(title, table);
    this.drawRule(rows);
    this.place();
  }

  drawRule(rows) {
    const [bottom, top] = this.drawing.y.pixels;
    const line = svgElement("path", { d: `M${pixelText(this.drawing.x.at(this.at))} ${bottom}V${top}` });
    const inside = rows.filter(({ point }) => point && point[1] >= top - 1 && point[1] <= bottom + 1);
    const dots = inside.map(({ series, point }) =>
      svgElement("path", { class: `symbols ${styleClass(series)}`, d: circlePath(point, 4) }));
    this.rule.replaceChildren(line, ...dots);
    this.drawing.svg.append(this.rule);
  }

  // Beside the rule, on the side with more room, and inside the page.
  place() {
    const { width, x, box } = this.drawing;
    const at = x.at(this.at);
    const own = this.list.offsetWidth;
    const beside = at < width / 2 ? at + 12 : at - 12 - own;
    const room = document.documentElement.clientWidth - box.getBoundingClientRect().left;
    this.list.style.left = `${Math.max(0, Math.min(beside, Math.max(width, room - 8) - own))}px`;
  }
}

function rowElement({ series, value }, decimals) {
  const row = document.createElement("p");
  const [mark, name, number] = ["span", "bdi", "span"].map((tag) => document.createElement(tag));
  mark.className = `swatch ${styleClass(series)}`;
  name.textContent = series.name;
  number.className = "value";
  number.textContent = value === null ? "–" : numberText(value, decimals);
  row.append(mark, name, " ", number);
  return row;
}
