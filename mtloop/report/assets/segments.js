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
    ["with first appearances of words", someWord("1")],
    ["with second appearances of words", someWord("2")],
    [paired ? "second appearance correct, baseline wrong" : "second appearance correct", learned],
    ["second appearance wrong", someWord("2-")],
  ] : []),
  ["with an empty output", (i) => systems.some((system) => !system.texts[i].trim())],
].filter(([, accepts]) => [...data.ids.keys()].some(accepts));

// Lower is better, for every metric; NaN if the segment has no score.
const badness = (system, m, i) => {
  const score = system.scores[m]?.[i] ?? NaN;
  return metrics[m]?.higher ? -score : score;
};
const gain = (system, m, i) => badness(baseline, m, i) - badness(system, m, i);
const ORDERS = [
  ["as in the stream", () => 0],
  ["worst first", (...key) => -badness(...key)],
  ["best first", badness],
  ...(paired ? [["largest gain first", (...key) => -gain(...key)], ["largest loss first", gain]] : []),
];

// The text of a segment that the search looks at, in lower case; built at the first search.
let searchTexts = null;
function searchText(i) {
  const texts = (system, n) => [system.texts[n], ...references(system, n)];
  searchTexts ??= data.ids.map((id, n) =>
    [id, data.sources?.[n], ...systems.flatMap((system) => texts(system, n))].join("\n").toLowerCase());
  return searchTexts[i];
}

function matching(query) {
  const exact = /^#(\d+)$/.exec(query);
  if (exact) return (i) => i === Number(exact[1]) - 1;
  return query ? (i) => searchText(i).includes(query) : () => true;
}

function select() {
  const accepts = FILTERS[control("filter").value][1];
  const matches = matching(control("search").value.trim().toLowerCase());
  shown = sorted([...data.ids.keys()].filter((i) => accepts(i) && matches(i)));
  showPage(0);
}

function sorted(list) {
  for (const id of ["metric", "system"]) control(id).disabled = control("order").value === "0";
  const rank = ORDERS[control("order").value][1];
  const [system, metric] = [systems[control("system").value], control("metric").value];
  const ranks = new Map(list.map((i) => [i, rank(system, metric, i)]));
  const key = (i) => (Number.isNaN(ranks.get(i)) ? Infinity : ranks.get(i)); // segments without a score come last
  return list.sort((i, j) => (key(i) === key(j) ? i - j : key(i) - key(j)));
}

function showPage(index) {
  const pages = Math.max(1, Math.ceil(shown.length / PER_PAGE));
  page = index;
  control("found").textContent = `${number(shown.length)} of ${number(data.ids.length)} segments`;
  control("page").textContent = `page ${number(page + 1)} of ${number(pages)}`;
  control("pages").hidden = pages === 1;
  control("back").disabled = page === 0;
  control("next").disabled = page === pages - 1;
  const against = control("against").value;
  control("list").replaceChildren(...shown.slice(page * PER_PAGE, (page + 1) * PER_PAGE).map((i) => card(i, against)));
}

function showKey() {
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

let timer = 0;
control("search").addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(select, 120);
});
control("search").form.addEventListener("submit", (event) => event.preventDefault());
for (const id of ["filter", "order", "metric", "system"]) control(id).addEventListener("change", select);
control("against").addEventListener("change", () => {
  showKey();
  showPage(page);
});
for (const [id, by] of [["back", -1], ["next", 1]]) {
  control(id).addEventListener("click", () => {
    showPage(page + by);
    control("found").scrollIntoView();
  });
}
// A click on a curve shows the segment there.
addEventListener("segment", ({ detail }) => {
  control("filter").value = 0;
  control("search").value = `#${detail}`;
  select();
  control("segments").focus();
});
showKey();
select();
