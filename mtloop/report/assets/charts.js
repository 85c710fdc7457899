// The charts of the page: one for each element with data-chart; buttons with data-system hide a system in all of them.
const chartData = JSON.parse(document.getElementById("chart-data").textContent);
// The chart with this name; each series gets its x column.
function chartOf(name) {
  const chart = chartData[name];
  return { ...chart, series: chart.series.map((series) => ({ ...series, x: chart.columns[series.x] })) };
}
const systemButtons = [...document.querySelectorAll("[data-system]")];
const drawings = [...document.querySelectorAll("[data-chart]")].map((box) => new SvgChart(box, chartOf(box.dataset.chart)));

// A click on a curve over segments shows the segment.
function chooseSegment(drawing) {
  return drawing.chart.x.unit === "segment" ? (x) => dispatchEvent(new CustomEvent("segment", { detail: x })) : undefined;
}

function toggleSystem(system, hidden) {
  for (const button of systemButtons.filter((one) => one.dataset.system === system)) {
    button.setAttribute("aria-pressed", String(!hidden));
  }
  for (const drawing of drawings) drawing.hide(system, hidden);
}

for (const drawing of drawings) {
  new ChartReading(drawing, chooseSegment(drawing));
  addSaveButtons(drawing);
}
for (const button of systemButtons) {
  button.addEventListener("click", () => toggleSystem(button.dataset.system, button.getAttribute("aria-pressed") === "true"));
}
// Paper has two narrow columns.
addEventListener("beforeprint", () => drawings.forEach((drawing) => drawing.draw(360, 250)));
addEventListener("afterprint", () => drawings.forEach((drawing) => drawing.draw()));
