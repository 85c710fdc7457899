// The workbench: connects the list, the editor, the details and the keys.
const narrow = matchMedia("(max-width: 60rem)");
const onMac = navigator.platform.startsWith("Mac");
const hasModifier = (event) => (onMac ? event.ctrlKey : event.altKey && !event.ctrlKey) && !event.metaKey;

const COMMANDS = {
  ArrowUp: () => editor.step(-1),
  ArrowDown: () => editor.step(1),
  KeyU: () => { if (editor.unit?.state === "confirmed") undoUnit(editor.unit); },
  KeyR: () => editor.reset(),
  KeyG: byId("term-form") && openTermForm, // for organisers only
  KeyK: openConcordance,
  KeyJ: () => byId("jump").focus(),
  KeyS: () => byId("search").focus(),
};

// Whether a key writes a character.
function writes(event) {
  const isAlone = !hasModifier(event) && !event.ctrlKey && !event.metaKey;
  return event.key.length === 1 && (isAlone || event.getModifierState("AltGraph"));
}

addEventListener("keydown", (event) => {
  if (editor.isSourceSelected && writes(event)) editor.takeFocusBack();
  const inBox = editor.box && event.target === editor.box;
  const isFree = !event.repeat && !document.querySelector("dialog[open]"); // a held key confirms once
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && editor.box) act(event, () => isFree && editor.confirm());
  else if (event.key === "F1") act(event, showKeys);
  else if (inBox && event.key === "Tab" && !event.shiftKey && editor.completion) act(event, () => editor.takeCompletion());
  else if (inBox && typing.stepsOf(event)) act(event, () => editor.goBack(typing.stepsOf(event)));
  else if (inBox && event.key === "Escape" && editor.completion) act(event, () => editor.showCompletion(""));
  else if (hasModifier(event) && /^Digit[1-9]$/.test(event.code) && inBox) act(event, () => editor.insertPiece(Number(event.code.at(-1))));
  else if (hasModifier(event) && COMMANDS[event.code] && !document.querySelector("dialog[open]")) act(event, COMMANDS[event.code]);
});

function act(event, what) {
  event.preventDefault();
  what();
}

function showKeys() {
  if (!byId("keys").open) byId("keys").showModal();
}

// On a narrow screen the details stand below the active segment.
function placeDetails() {
  const row = rowOf(editor.index);
  const details = byId("details");
  const place = narrow.matches && row ? row : document.querySelector(".bench");
  if (details.parentElement !== place) place.append(details);
}

function onSubmit(id, what) {
  byId(id)?.addEventListener("submit", (event) => act(event, what));
}

const showFound = after(250, async () => {
  list.search = byId("search").value.trim();
  list.filter = byId("filter").value;
  await list.show();
  suggestions.ask();
});

async function jump() {
  const number = Number(byId("jump").value);
  if (number >= 1 && number <= pageData.document.units) await editor.openAt(number - 1);
}

// A choice in the menu counts when it is sent: the keys that go through the menu choose each method on their way.
const showMethodChoice = () => { byId("use-method").hidden = byId("method").selectedOptions[0].defaultSelected; };

async function changeMethod() {
  const chosen = byId("method").selectedOptions[0];
  const answer = await request("PATCH", projectUrl, { method: chosen.value });
  if (succeeded(answer)) for (const option of byId("method").options) option.defaultSelected = option === chosen;
  byId("method-form").reset(); // to the method that the project has
  showMethodChoice();
  if (answer.status !== 200) return;
  tell(say("learning"));
  suggestions.renew();
}

async function start() {
  await list.show();
  list.change = knownChange(list.change);
  paintProgress();
  paintStrip();
  const unfinished = [...work].find(([, one]) => !one.confirm) ?? [...work][0];
  const restored = unfinished?.[0];
  if (restored !== undefined) {
    await editor.openAt(restored);
    tell(say("restored"));
    sendKept();
  } else await editor.openNext(-1);
  startPolling();
}

listeners.addEventListener("rows", watchRows);
listeners.addEventListener("active", placeDetails);
for (const kind of ["active", "suggestion"]) listeners.addEventListener(kind, paintDetails);
for (const kind of ["learned", "changes"]) {
  listeners.addEventListener(kind, () => { paintProgress(); paintStrip(); paintTime(); });
}
narrow.addEventListener("change", placeDetails);
document.addEventListener("visibilitychange", () => segmentClock.follow());
byId("details").addEventListener("click", (event) => event.stopPropagation());
byId("search").addEventListener("input", showFound);
byId("filter").addEventListener("change", showFound);
byId("compare").addEventListener("change", paintBase);
byId("method")?.addEventListener("change", showMethodChoice);
onSubmit("method-form", changeMethod);
byId("download").addEventListener("click", () => warnOfBroken(documentUrl));
byId("show-keys").addEventListener("click", showKeys);
byId("term-box")?.addEventListener("toggle", () => { if (byId("term-box").open) fillTerm(); });
document.addEventListener("selectionchange", () => { if (byId("term-box")?.open) fillTerm(); });
onSubmit("jump-form", jump);
onSubmit("term-form", addTerm);
onSubmit("concordance-form", searchCorrections);
watchEnds();
start();
