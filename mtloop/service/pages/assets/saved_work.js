// Nothing that was typed or confirmed is lost: it is kept in this browser until the service has stored it.
const DRAFT_MS = 700;
const POLL_MS = 3000;
const UNAVAILABLE = [0, 429, 502, 503, 504];
const queues = new Map(); // by index: the requests about a unit, one after another
let conflicts = Promise.resolve(); // one dialog after another
// What is kept of a unit: the `text` typed last, the `version` of the unit it was typed for, and `confirm`, what is to be
// confirmed and not stored yet: {text, suggestion, force}.
const work = new StoredMap("mtloop");
const kept = (index) => work.get(index);

function release(index) {
  work.delete(index);
  if (!work.size) showConnection("all_saved");
}

// Requests about one unit go out one after another, because each needs the version that the one before made.
function inOrder(unit, act) {
  const next = (queues.get(unit.index) ?? Promise.resolve()).then(act, act);
  queues.set(unit.index, next);
  return next;
}

// The unit as the page has it now: the list may have read it again during a request.
const current = (unit) => units.get(unit.index) ?? unit;

function typed(unit, text) {
  const isFirst = !kept(unit.index);
  work.set(unit.index, { version: unit.version, ...kept(unit.index), text });
  if (isFirst) repaint(unit.index); // it is a draft now
  showConnection("saving");
  saveSoon();
}

const saveSoon = after(DRAFT_MS, () => sendKept());

// Sends everything that the service has not stored yet.
async function sendKept() {
  if (stopped) return;
  for (const index of [...work.keys()]) {
    const unit = units.get(index) ?? await unitAt(index);
    if (!unit) return;
    await inOrder(unit, () => (kept(index)?.confirm ? sendConfirmation(unit) : sendDraft(unit)));
  }
}

async function sendDraft(unit) {
  const one = kept(unit.index);
  if (!one || one.confirm) return;
  const answer = await request("PUT", `${documentUrl}/units/${unit.index}/draft`, { text: one.text, version: one.version });
  if (UNAVAILABLE.includes(answer.status)) return showConnection("offline");
  if (answer.status === 409) return meetConflict(current(unit));
  if (isOver(answer)) return;
  if (!succeeded(answer)) return showConnection("not_saved");
  Object.assign(current(unit), { version: answer.body.version, draft: { text: one.text, participant: pageData.me } });
  ownDrafts.set(unit.index, { text: one.text, ...answer.body });
  repaint(unit.index);
  const now = kept(unit.index);
  if (now.text === one.text && !now.confirm) release(unit.index);
  else work.set(unit.index, { ...now, version: answer.body.version });
}

// A unit of the document, in the window or not.
async function unitAt(index) {
  const answer = await request("GET", `${documentUrl}/units?after=${index - 1}&limit=1`);
  return answer.status === 200 ? answer.body.units[0] : null;
}

// Confirms a text. "confirmed": stored; "edited": stored, but the person typed on; "kept": sent when the service is back;
// "refused": the person has to decide.
function confirmUnit(unit, text, { suggestion = "", force = false } = {}) {
  work.set(unit.index, { version: unit.version, ...kept(unit.index), text, confirm: { text, suggestion, force } });
  return inOrder(unit, () => sendConfirmation(unit));
}

async function sendConfirmation(unit) {
  const { confirm: sent, version } = kept(unit.index) ?? {};
  if (!sent) return "confirmed"; // an earlier request in the queue sent it
  const answer = await request("POST", `${documentUrl}/units/${unit.index}/confirm`, { ...sent, version });
  const now = kept(unit.index);
  const shown = current(unit);
  shown.waiting = answer.status === 401 || answer.status >= 500 || UNAVAILABLE.includes(answer.status);
  if (shown.waiting) {
    if (answer.status === 401) succeeded(answer);
    else showConnection("offline");
    repaint(unit.index);
    return "kept";
  }
  if (answer.status === 409 && answer.body.type?.includes("unit-changed")) return meetConflict(shown);
  if (answer.status !== 200) {
    work.set(unit.index, { text: now.text, version: now.version });
    if (isOver(answer)) return "refused";
    refuse(shown, answer);
    return "refused";
  }
  keepNewer(unit.index, sent, now, answer.body.unit.version);
  confirmed(shown, answer.body);
  return now.text === sent.text ? "confirmed" : "edited";
}

// After a confirmation: what was typed or confirmed during the request is still to be sent.
function keepNewer(index, sent, now, version) {
  if (now.confirm !== sent) work.set(index, { ...now, version });
  else if (now.text === sent.text) release(index);
  else {
    work.set(index, { text: now.text, version });
    saveSoon();
  }
}

function confirmed(unit, answer) {
  Object.assign(unit, answer.unit, { changed: false });
  ownDrafts.delete(unit.index);
  repaint(unit.index);
  const number = unit.index + 1;
  tell(answer.refused ? say("not_learned", { number, reason: reasonOf(answer.refused) }) : say("confirmed_now", { number }));
  suggestions.renew();
  listeners.dispatchEvent(new Event("learned"));
}

function refuse(unit, answer) {
  const reason = answer.body?.detail ?? String(answer.status);
  const isProtected = answer.body?.type?.endsWith("protected-text");
  if (editor.index === unit.index) editor.refuse(isProtected ? brokenText(unit, editor.text) || reasonOf(reason) : reasonOf(reason), isProtected && reason.includes("force"));
  else tell(say("refused_offline", { number: unit.index + 1, reason: reasonOf(reason) }), true);
}

async function undoUnit(unit) {
  const answer = await inOrder(unit, () => request("POST", `${documentUrl}/units/${unit.index}/undo`, { version: unit.version }));
  if (answer.status === 409) await pollChanges();
  if (!succeeded(answer)) return;
  Object.assign(current(unit), answer.body.unit, { era: -1 });
  repaint(unit.index);
  tell(say("undone_now", { number: unit.index + 1 }));
  if (editor.index === unit.index) editor.open(unit.index);
  suggestions.renew();
  listeners.dispatchEvent(new Event("learned"));
}

// Somebody else changed the unit: both texts are shown, and the person decides.
async function meetConflict(unit) {
  const theirs = await unitAt(unit.index);
  if (!theirs) return "kept";
  const other = theirs.state === "confirmed" ? theirs.target : theirs.draft?.text ?? theirs.target;
  const mine = kept(unit.index).text;
  Object.assign(unit, theirs);
  ownDrafts.delete(unit.index); // what is kept is newer, or the same
  if (other === mine && theirs.state === "confirmed") {
    release(unit.index);
    repaint(unit.index);
    return "confirmed";
  }
  const isOwn = theirs.state !== "confirmed" && theirs.draft?.participant === pageData.me; // an answer was lost
  const choice = isOwn ? "mine" : await chosen(unit, other, mine);
  if (choice === "theirs") {
    release(unit.index);
    if (editor.index === unit.index) editor.open(unit.index);
  } else {
    const now = kept(unit.index);
    work.set(unit.index, isOwn ? { ...now, version: unit.version } : { text: now.text, version: unit.version });
    saveSoon();
  }
  repaint(unit.index);
  return isOwn ? "kept" : "refused";
}

function chosen(unit, theirs, mine) {
  conflicts = conflicts.then(() => asked(unit, theirs, mine));
  return conflicts;
}

async function asked(unit, theirs, mine) {
  const dialog = byId("conflict");
  const name = (unit.state === "confirmed" ? unit.participant : unit.draft?.participant) ?? say("conflict_somebody");
  byId("conflict-title").textContent = say("conflict_title", { number: unit.index + 1 });
  byId("conflict-who").textContent = say("conflict_theirs", { name });
  byId("conflict-theirs").textContent = theirs;
  byId("conflict-mine").textContent = mine;
  dialog.returnValue = "mine"; // Escape replaces nothing: what was typed becomes a draft
  dialog.showModal();
  await new Promise((resolve) => { dialog.addEventListener("close", resolve, { once: true }); });
  return dialog.returnValue;
}

// What others did since the last time.
async function pollChanges() {
  if (stopped) return;
  const answer = await request("GET", `${documentUrl}/changes?after=${list.change}`);
  if (UNAVAILABLE.includes(answer.status)) return showConnection("offline");
  if (isOver(answer) || !succeeded(answer)) return;
  list.change = answer.body.change;
  let learned = false;
  for (const one of answer.body.units) learned = takeChange(one) || learned;
  if (learned) suggestions.renew();
  if (answer.body.units.length) listeners.dispatchEvent(new Event("changes"));
  if (work.size) await sendKept();
  else showConnection("all_saved");
}

// The own draft was replaced: it is to be sent once more as it was. The service then says that there is a conflict.
function recallReplaced(unit) {
  if (kept(unit.index) || !isReplaced(unit)) return;
  const { text, version } = ownDrafts.get(unit.index);
  work.set(unit.index, { text, version });
}

// Takes a unit as it is now; true if something was confirmed or undone that this page does not know.
function takeChange(one) {
  const unit = units.get(one.index);
  if (unit && unit.version >= one.version) return false;
  recallReplaced(one);
  if (!unit) return one.state === "confirmed" || !one.draft;
  if (kept(one.index)) return false; // the answer to our own request will say that there is a conflict
  const learned = unit.state !== one.state || unit.correction !== one.correction;
  Object.assign(unit, one, { changed: unit.changed && one.state !== "confirmed" });
  repaint(one.index);
  if (editor.index === one.index) editor.showAnew();
  return learned;
}

function startPolling() {
  setInterval(() => { if (!document.hidden || work.size) pollChanges(); }, POLL_MS);
  addEventListener("online", pollChanges);
  addEventListener("beforeunload", () => sendKept());
}
