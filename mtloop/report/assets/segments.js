const PER_PAGE = 20;
const others = systems.filter((system) => system !== baseline);
const paired = Boolean(baseline && others.length);
const hasWords = systems.some((system) => system.words);
const control = (id) => document.getElementById(id);
const number = (value) => value.toLocaleString("en");
let shown = [];
let page = 0;

const changed = (i) => others.some((system) => system.texts[i] !== baseline.texts[i]);
const someWord = (mark) => (i) => systems.some((system) => words(system, i, mark).length);
const learned = (i) => {
  const known = new Set(baseline ? words(baseline, i, "2+") : []);
  return others.some((system) => words(system, i, "2+").some((word) => !known.has(word)));
};
const FILTERS = [
  ["all segments", () => true],
  ...(paired ? [["changed against the baseline", changed]] : []),
  ...(hasWords ? [
    ["with words for the first time", someWord("1")],
    ["with words for the second time", someWord("2")],
    [paired ? "second time right, baseline wrong" : "second time right", learned],
    ["second time wrong", someWord("2-")],
  ] : []),
  ["with an empty output", (i) => systems.some((system) => !system.texts[i].trim())],
].filter(([, accepts]) => [...data.ids.keys()].some(accepts));

// The lower, the earlier a segment comes; what has no score comes last.
const badness = (system, m, i) => {
  const score = system.scores[m]?.[i] ?? NaN;
  return metrics[m]?.higher ? -score : score;
};
const gain = (system, m, i) => badness(baseline, m, i) - badness(system, m, i);
const ORDERS = [
  ["as they came", () => 0],
  ["worst first", (...place) => -badness(...place)],
  ["best first", badness],
  ...(paired ? [["largest gain first", (...place) => -gain(...place)], ["largest loss first", gain]] : []),
];

// Text to search in, made when first asked for: all that is shown of a segment, in lower case.
let haystacks = null;
function haystack(i) {
  const texts = (system, n) => [system.texts[n], ...references(system, n)];
  haystacks ??= data.ids.map((id, n) =>
    [id, data.sources?.[n], ...systems.flatMap((system) => texts(system, n))].join("\n").toLowerCase());
  return haystacks[i];
}

function matching(query) {
  const exact = /^#(\d+)$/.exec(query);
  if (exact) return (i) => i === Number(exact[1]) - 1;
  return query ? (i) => haystack(i).includes(query) : () => true;
}

function select() {
  const accepts = FILTERS[control("filter").value][1];
  const matches = matching(control("search").value.trim().toLowerCase());
  shown = sorted([...data.ids.keys()].filter((i) => accepts(i) && matches(i)));
  turn(0);
}

function sorted(list) {
  for (const id of ["metric", "system"]) control(id).disabled = control("order").value === "0";
  const rank = ORDERS[control("order").value][1];
  const [system, metric] = [systems[control("system").value], control("metric").value];
  const ranks = new Map(list.map((i) => [i, rank(system, metric, i)]));
  const last = (i) => (Number.isNaN(ranks.get(i)) ? Infinity : ranks.get(i));
  return list.sort((i, j) => (last(i) === last(j) ? i - j : last(i) - last(j)));
}

function turn(to) {
  const pages = Math.max(1, Math.ceil(shown.length / PER_PAGE));
  page = to;
  control("found").textContent = `${number(shown.length)} of ${number(data.ids.length)} segments`;
  control("page").textContent = `page ${number(page + 1)} of ${number(pages)}`;
  control("pages").hidden = pages === 1;
  control("back").disabled = page === 0;
  control("next").disabled = page === pages - 1;
  const against = control("against").value;
  control("list").replaceChildren(...shown.slice(page * PER_PAGE, (page + 1) * PER_PAGE).map((i) => card(i, against)));
}

function explain() {
  const against = data.references.some((texts) => texts.length) && control("against").value;
  for (const line of document.querySelectorAll("[data-against]")) line.hidden = line.dataset.against !== against;
}

function fill(id, options, chosen = 0) {
  control(id).replaceChildren(...options.map(([value, label]) => new Option(label, value, value === chosen, value === chosen)));
  control(id).closest("label").hidden = options.length < 2;
}

const menu = (id, names, chosen) => fill(id, names.map((name, n) => [n, name]), chosen);
menu("filter", FILTERS.map(([name]) => name));
menu("order", ORDERS.map(([name]) => name));
menu("metric", metrics.map((metric) => metric.title));
menu("system", systems.map((system) => system.name), others.length ? systems.indexOf(others[0]) : 0);
fill("against", [["reference", "the reference"], ...(paired ? [["baseline", `the baseline, ${baseline.name}`]] : [])], "reference");
control("words-key").hidden = !hasWords;

let waiting = 0;
control("search").addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(select, 120);
});
control("search").form.addEventListener("submit", (event) => event.preventDefault());
for (const id of ["filter", "order", "metric", "system"]) control(id).addEventListener("change", select);
control("against").addEventListener("change", () => {
  explain();
  turn(page);
});
for (const [id, by] of [["back", -1], ["next", 1]]) {
  control(id).addEventListener("click", () => {
    turn(page + by);
    control("found").scrollIntoView();
  });
}
// A click on a curve asks for the segment there.
addEventListener("segment", ({ detail }) => {
  control("filter").value = 0;
  control("search").value = `#${detail}`;
  select();
  control("segments").focus();
});
explain();
select();
