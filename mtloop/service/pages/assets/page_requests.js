// Requests of pages to the API, and the texts of the page's language.
const PAGE_HEADERS = { "x-mtloop-page": "1", "content-type": "application/json", accept: "application/json" };
const RETRY_MS = [1000, 2000, 4000, 8000];

// The answer of the API: {status, body}. An unreachable service is status 0.
async function request(method, path, body) {
  try {
    const content = body === undefined ? undefined : JSON.stringify(body);
    const response = await fetch(path, { method, headers: PAGE_HEADERS, body: content, cache: "no-store" });
    const text = await response.text();
    return { status: response.status, body: parsed(text), retryAfter: Number(response.headers.get("retry-after")) || 0 };
  } catch {
    return { status: 0, body: null, retryAfter: 0 };
  }
}

// Repeats a request while the service does not answer. Only for requests that may arrive twice.
async function requestUntilAnswered(method, path, body, onWait) {
  for (let attempt = 0; ; attempt += 1) {
    const answer = await request(method, path, body);
    if (![0, 429, 502, 503, 504].includes(answer.status)) return answer;
    onWait(answer);
    const pause = answer.retryAfter * 1000 || RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)];
    await new Promise((resolve) => { setTimeout(resolve, Math.min(pause, 30_000)); });
  }
}

// How many confirmed units of a document have a text that may break a file or a program: somebody insisted on it.
async function countBroken(documentAddress) {
  let [count, after] = [0, -1];
  while (after !== null) {
    const answer = await request("GET", `${documentAddress}/units?filter=failing&limit=500&after=${after}`);
    if (answer.status !== 200) break;
    count += answer.body.units.filter((unit) => unit.state === "confirmed" && unit.checks.some((check) => check.serious)).length;
    after = answer.body.next;
  }
  return count;
}

// Says after a download what in the file may break a program.
async function warnOfBroken(documentAddress) {
  const count = await countBroken(documentAddress);
  if (count) tell(say(count === 1 ? "broken_one" : "broken_count", { count }), true);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

// A text of the catalogue with its placeholders filled in.
function filled(text, values = {}) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

// Why the service refused something, in the language of the page. `texts` has a text for each code of a problem.
function refusalOf(answer, texts) {
  const code = answer.body?.type?.split(":").at(-1);
  return filled(texts[code] ?? texts.other, { detail: answer.body?.detail ?? answer.status });
}

function copyOf(id) {
  return document.getElementById(id).content.firstElementChild.cloneNode(true);
}

async function copyText(input) {
  input.select();
  try {
    await navigator.clipboard.writeText(input.value);
  } catch {
    document.execCommand("copy");
  }
}
