// The strip of numbers: what learning did for the project, and the time that a segment takes.
const STATISTICS_MS = 2500;

const paintStrip = after(STATISTICS_MS, async () => {
  const answer = await request("GET", `${projectUrl}/statistics?last=200`);
  if (answer.status !== 200) return;
  const metric = (name) => answer.body.metrics.find((one) => one.name.toLowerCase() === name);
  const percent = (value) => (value === null || value === undefined ? "–" : `${Math.round(value)} %`);
  byId("strip-effort_saved").textContent = percent(saved(metric("ter")));
  byId("strip-r1").textContent = percent(metric("r1")?.value);
  byId("strip-repeated_errors").textContent = percent(metric("rer")?.value);
});

// By how many percent the edits are fewer than those that the base model needs.
function saved(ter) {
  const base = ter?.base?.value;
  return base && ter.value !== null ? (100 * (base - ter.value)) / base : null;
}

function paintTime() {
  if (!editor.times.length) return;
  const median = [...editor.times].sort((one, other) => one - other)[Math.floor(editor.times.length / 2)];
  const text = median < 100 ? say("seconds", { count: Math.round(median) }) : say("minutes", { count: Math.round(median / 60) });
  byId("strip-time_per_segment").textContent = text;
}

async function paintProgress() {
  const answer = await request("GET", documentUrl);
  if (answer.status !== 200) return;
  const { units: all, open } = answer.body;
  Object.assign(byId("progress"), { max: all || 1, value: all - open });
  byId("progress-text").textContent = say("units_done", { done: all - open, units: all });
}
