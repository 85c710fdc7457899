// What all parts of the workbench share: the data of the page, its texts, and addresses of the API.
const pageData = JSON.parse(document.getElementById("page-data").textContent);
const projectUrl = `/v1/projects/${encodeURIComponent(pageData.project.name)}`;
const documentUrl = `${projectUrl}/documents/${pageData.document.document}`;
const byId = (id) => document.getElementById(id);
const say = (key, values) => filled(pageData.texts[key], values);
// By index: a unit of the API, with `suggestion`, `changed`, `base` and `waiting` of this page. It has those in the window
// and those that were: what is known of their suggestions is not forgotten.
const units = new Map();
const listeners = new EventTarget();
let stopped = false; // nothing can be saved any more

function tell(text, wrong = false) {
  byId("said").textContent = text;
  byId("said").classList.toggle("error", wrong);
}

// Tells why a request failed; true if it did not.
function succeeded(answer) {
  if (answer.status >= 200 && answer.status < 300) return true;
  if (answer.status === 0) showConnection("offline");
  else if (answer.status === 401) tell(say("signed_out"), true);
  else tell(say("problem", { detail: reasonOf(answer.body?.detail ?? answer.status) }), true);
  return false;
}

function showConnection(key) {
  if (stopped) return;
  byId("connection").textContent = say(key);
  byId("connection").classList.toggle("error", ["offline", "not_saved"].includes(key));
}

// Whether the person may not work here any more: the document was deleted, or they lost their role. If so, says it, and
// the page sends nothing more.
function isOver(answer) {
  if (![403, 404].includes(answer.status)) return stopped;
  const text = say("stopped", { reason: reasonOf(answer.body?.detail ?? answer.status) });
  stopped = true;
  tell(text, true);
  byId("connection").textContent = text;
  byId("connection").classList.add("error");
  return true;
}

function element(name, content = "", kind = "") {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  made.textContent = content;
  return made;
}

function after(milliseconds, act) {
  let timer = 0;
  return (...values) => { clearTimeout(timer); timer = setTimeout(() => act(...values), milliseconds); };
}
