// The rating page: shows one item after the other. Everything saved is on the server, so any device can go on.
const { token, kind, texts, refused } = JSON.parse(document.getElementById("rating-data").textContent);
const API = `/v1/rating/${token}`;
const ANSWERS = { score: ScoreAnswer, thumbs: ThumbsAnswer, pair: PairAnswer, mqm: SpansAnswer };
const REASONS = { finished: "done_finished", stopped: "done_stopped" };
const CONFLICTS = { "urn:mtloop:nothing-to-undo": "nothing_to_undo", "urn:mtloop:campaign-stopped": "done_stopped" };
const DRAFT = "mtloop-rating-draft";
const LAST = "mtloop-rating-last"; // what was saved last: an undo shows it again
const SHORTCUTS = "mtloop-rating-shortcuts";
const $ = (id) => document.getElementById(id);

let item = null;
let answer = null;
let busy = false;
let seconds = 0; // for this item, while the page is visible
let since = 0; // when it was last shown; 0: paused

function tell(text) {
  $("state").textContent = text;
}

function complain(text) {
  $("message").textContent = text;
  $("message").hidden = text === "";
}

function stored(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null;
  }
}

function store(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // A browser without storage loses only what was not saved yet.
  }
}

function startClock() {
  since = performance.now();
}

function stopClock() {
  if (since) seconds += (performance.now() - since) / 1000;
  since = 0;
}

// Shows one of the sections: the work, the end, or the pause.
function showSection(name) {
  for (const id of ["work", "done", "paused"]) $(id).hidden = id !== name;
  $("pause").hidden = name !== "work";
}

function showProgress(progress) {
  const total = progress.left === null ? progress.target || null : Math.max(progress.target, progress.done + progress.left);
  const bar = $("progress");
  bar.hidden = total === null;
  bar.max = Math.max(total ?? 1, progress.done, 1);
  bar.value = progress.done;
  const text = total === null ? texts.rated : texts.rated_of;
  $("progress-text").textContent = filled(text, { done: progress.done, total });
}

function line(text, current) {
  const paragraph = document.createElement("p");
  paragraph.textContent = text;
  paragraph.dir = "auto";
  if (current) paragraph.id = "source";
  else paragraph.className = "around";
  return paragraph;
}

function showDocument() {
  const around = (lines) => (lines ?? []).map((text) => line(text, false));
  $("document").replaceChildren(...around(item.before), line(item.source, true), ...around(item.after));
  $("reference").hidden = !item.reference;
  $("reference").querySelector("p").textContent = item.reference ?? "";
  scrollToSource();
}

// Scrolls the document to the sentence to rate: to its middle, or to its beginning if it does not fit.
function scrollToSource() {
  const place = $("source"); // its offset is counted from the document, which is positioned
  if (!place) return;
  const above = Math.max(0, ($("document").clientHeight - place.offsetHeight) / 2);
  $("document").scrollTop = place.offsetTop - above;
}

function showItem() {
  showSection("work");
  $("choices").replaceChildren();
  answer = new ANSWERS[kind](item, texts, changed);
  $("cards").replaceChildren(...answer.cards);
  $("cards").dataset.count = answer.cards.length;
  const draft = [stored(DRAFT), stored(LAST)].find((one) => one?.item === item.item);
  if (draft) answer.restore(draft.answer);
  showDocument();
  $("document").scrollIntoView({ block: "nearest" }); // who saved may have scrolled down to the buttons
  changed();
  seconds = 0;
  startClock();
  if (!$("instructions").open) answer.focus();
}

function changed() {
  if (!answer) return;
  $("save").firstElementChild.textContent = answer.saveText();
  store(DRAFT, { item: item.item, answer: answer.draft() });
}

function showEnd(reason) {
  showSection("done");
  $("done-reason").textContent = texts[REASONS[reason]];
  $("undo-last").hidden = reason === "stopped";
  $("done").focus();
}

async function load() {
  const found = await requestUntilAnswered("GET", `${API}/next`, undefined, waiting);
  complain("");
  if (found.status !== 200) return refuse(found);
  item = found.body;
  if (item.progress) showProgress(item.progress);
  return item.item === null ? showEnd(item.reason) : showItem();
}

function waiting() {
  complain(texts.retrying);
}

function refuse(found) {
  if (found.status === 404) showSection("");
  complain(found.status === 404 ? texts.link_ended : filled(texts.failed, { detail: refusalOf(found, refused) }));
}

// Sends an act, then shows the next item. One act at a time. An undo is sent once: a repeated one would undo more.
async function act(path, body, done, send = requestUntilAnswered) {
  if (busy) return;
  busy = true;
  document.body.classList.add("busy");
  try {
    const found = await send("POST", API + path, body, waiting);
    await follow(found, done);
  } finally {
    busy = false;
    document.body.classList.remove("busy");
  }
}

async function follow(found, done) {
  if (found.status >= 200 && found.status < 300) {
    await load();
    tell(done);
  } else if (found.status === 0) {
    await load();
  } else if (found.status === 409) {
    await load();
    complain(texts[CONFLICTS[found.body?.type] ?? "changed_elsewhere"]);
  } else {
    startClock();
    refuse(found);
  }
}

function save() {
  if (!item?.item || busy) return;
  const given = answer.answer();
  if (given === null) {
    if (!answer.next()) complain(answer.missing());
    return;
  }
  complain("");
  stopClock();
  store(LAST, { item: item.item, answer: answer.draft() });
  act("/ratings", { item: item.item, ...given, seconds: Math.round(seconds * 10) / 10 }, texts.saved);
}

function skip() {
  if (!item?.item) return;
  act("/skip", { item: item.item }, texts.skipped);
}

function undo() {
  act("/undo", {}, texts.undone, request);
}

function pause() {
  stopClock();
  showSection("paused");
  $("link").value = location.origin + location.pathname;
  $("paused").focus();
}

function goOn() {
  load();
}

function toggleInstructions() {
  $("instructions").open = !$("instructions").open;
  if ($("instructions").open) $("instructions").querySelector("summary").focus();
  else answer?.focus();
}

function begin() {
  $("instructions").open = false;
  window.scrollTo(0, 0);
  answer?.focus();
}

const KEYS = { s: skip, u: undo, "?": toggleInstructions };

function onKey(event) {
  if (event.repeat && (event.key === "Enter" || event.key.toLowerCase() in KEYS)) return event.preventDefault(); // a key that is held acts once
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") return handled(event, undo);
  if (event.ctrlKey || event.metaKey || event.altKey || $("paused").hidden === false) return undefined;
  if (event.target.matches("input:not([type=range]), textarea, select")) return undefined;
  if (event.key === "Enter" && $("instructions").open && !event.target.closest("button, a, summary")) return handled(event, begin);
  if (event.key === "Enter") return event.target.closest("button:not([aria-pressed]), a, summary") ? undefined : handled(event, save);
  if (!$("shortcuts").checked && event.key.length === 1 && event.key !== " ") return undefined;
  if (!$("work").hidden && answer?.onKey(event)) return handled(event, () => complain(""));
  const act = KEYS[event.key.toLowerCase()];
  return act ? handled(event, act) : undefined;
}

function handled(event, act) {
  event.preventDefault();
  act();
}

async function open() {
  const found = await requestUntilAnswered("GET", API, undefined, waiting);
  tell("");
  if (found.status !== 200) return refuse(found);
  $("instructions").open = found.body.progress.done === 0;
  showProgress(found.body.progress);
  return load();
}

$("shortcuts").checked = stored(SHORTCUTS) !== false;
$("shortcuts").addEventListener("change", () => store(SHORTCUTS, $("shortcuts").checked));
for (const [id, act] of Object.entries({ save, skip, undo, pause, begin, continue: goOn, "undo-last": undo, "look-again": load })) {
  $(id).addEventListener("click", () => act());
}
$("copy").addEventListener("click", async () => { await copyText($("link")); tell(texts.copied); });
document.addEventListener("keydown", onKey);
document.addEventListener("visibilitychange", () => (document.hidden ? stopClock() : !$("work").hidden && startClock()));
new ResizeObserver(scrollToSource).observe($("document"));
open();
