const figures = JSON.parse(document.getElementById("chart-data").textContent);
const plots = [...document.querySelectorAll("[data-chart]")];
const hidden = new Set();

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const translucent = (hex) => `${hex}2e`;

// Plotly does not read style sheets: set the page's colours, again whenever they change.
function themed(figure) {
  const [ink, soft, grid, guide, paper] = ["--ink", "--soft", "--grid", "--guide", "--paper"].map(colour);
  const axis = (side) => ({
    gridcolor: grid, linecolor: soft, zerolinecolor: grid, automargin: true, ...figure.layout[side],
    title: { ...figure.layout[side].title, font: { size: 12, color: soft }, standoff: 8 },
  });
  return {
    data: figure.data.map(coloured),
    layout: {
      ...figure.layout,
      xaxis: { ...axis("xaxis"), showgrid: false, showline: true, ticks: "outside", tickcolor: soft, ticklabeloverflow: "allow" },
      yaxis: axis("yaxis"),
      shapes: figure.layout.shapes.map((shape) => ({ layer: "below", ...shape, line: { ...shape.line, color: guide, width: 1 } })),
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: ink },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      hoverlabel: { bgcolor: paper, bordercolor: grid, font: { color: ink }, namelength: 40 },
      margin: { l: 56, r: 20, t: 12, b: 44 },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: guide, activecolor: ink },
      dragmode: "zoom",
      uirevision: "kept", // keeps the zoom when colours or systems change
    },
  };
}

function coloured(trace) {
  const shade = colour(`--series-${trace.meta.shade}`);
  return {
    ...trace,
    visible: !hidden.has(trace.meta.system),
    fillcolor: translucent(shade),
    line: { ...trace.line, color: shade },
    ...(trace.marker && { marker: { ...trace.marker, color: shade } }),
  };
}

// An explicit list: plotly's default buttons include one that sends the data to a server.
const CONFIG = { responsive: true, displaylogo: false, modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]] };

function draw(plot, size = {}) {
  const { data, layout } = themed(figures[plot.dataset.chart]);
  Plotly.react(plot, data, { ...layout, ...size }, CONFIG);
}

const drawAll = (size) => plots.forEach((plot) => draw(plot, size));

function toggle(system) {
  if (!hidden.delete(system)) hidden.add(system);
  for (const button of document.querySelectorAll("[data-system]")) {
    button.setAttribute("aria-pressed", String(!hidden.has(button.dataset.system)));
  }
  drawAll();
}

function start(plot) {
  draw(plot);
  if (figures[plot.dataset.chart].layout.xaxis.type === "linear") {
    plot.on("plotly_click", ({ points }) => dispatchEvent(new CustomEvent("segment", { detail: points[0].x })));
  }
}

for (const plot of plots) setTimeout(start, 0, plot); // one at a time, so that the page stays responsive
for (const button of document.querySelectorAll("[data-system]")) {
  button.addEventListener("click", () => toggle(button.dataset.system));
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll());
addEventListener("beforeprint", () => drawAll({ width: 330, height: 240 }));
addEventListener("afterprint", () => {
  drawAll();
  plots.forEach((plot) => Plotly.Plots.resize(plot));
});
