// The list of projects and the page of one project: create, upload, delete, change the method and the members.
const pageData = JSON.parse(document.getElementById("page-data").textContent);
const say = (key, values) => filled(pageData.texts[key], values);
const said = document.getElementById("said");
const projectUrl = `/v1/projects/${encodeURIComponent(pageData.project ?? "")}`;

function tell(text, wrong = false) {
  said.textContent = text;
  said.classList.toggle("error", wrong);
}

// True if the service did what it was asked for; else its answer is shown.
function succeeded(answer) {
  if (answer.status >= 200 && answer.status < 300) return true;
  tell(answer.status === 0 ? say("unreachable") : say("problem", { detail: reasonOf(answer.body?.detail ?? answer.status) }), true);
  return false;
}

function onSubmit(id, act) {
  document.getElementById(id)?.addEventListener("submit", async (event) => {
    event.preventDefault();
    await act(new FormData(event.target));
  });
}

// One file is opened when the service has it; of several, the list is shown, and what was refused.
async function upload(files) {
  const [made, refused] = [[], []];
  for (const file of files) {
    tell(say("uploading", { name: file.name }));
    const answer = await sendFile(`${projectUrl}/documents?name=${encodeURIComponent(file.name)}`, file);
    if (answer.status === 201) made.push(answer.body.document);
    else refused.push(say("not_added", { name: file.name, reason: answer.status ? reasonOf(answer.body?.detail ?? answer.status) : say("unreachable") }));
  }
  if (made.length === 1 && files.length === 1) location.assign(`/projects/${pageData.project}/documents/${made[0]}`);
  else if (made.length) showAnew(refused.join(" "));
  else tell(refused.join(" "), true);
}

// Loads the page again, and shows a message then. The entry of the history keeps it: that needs no storage.
function showAnew(text) {
  history.replaceState({ notice: text }, "");
  location.reload();
}

function showNotice() {
  tell(history.state?.notice ?? "", true);
  history.replaceState(null, "");
}

async function sendFile(path, file) {
  try {
    const headers = { "x-mtloop-page": "1", "content-type": "application/octet-stream" };
    const response = await fetch(path, { method: "POST", headers, body: file });
    return { status: response.status, body: parsed(await response.text()) };
  } catch {
    return { status: 0, body: null };
  }
}

function prepareDrop(drop) {
  for (const kind of ["dragenter", "dragover"]) {
    drop.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.add("over"); });
  }
  for (const kind of ["dragleave", "drop"]) drop.addEventListener(kind, () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => { event.preventDefault(); upload([...event.dataTransfer.files]); });
  document.getElementById("file").addEventListener("change", ({ target }) => {
    const files = [...target.files];
    target.value = ""; // the same file can be chosen again
    upload(files);
  });
  showNotice();
}

async function deleteDocument(button) {
  const sure = document.getElementById("sure");
  document.getElementById("sure-text").textContent = say("delete_sure", { name: button.dataset.name });
  sure.returnValue = "no";
  sure.showModal();
  await new Promise((resolve) => { sure.addEventListener("close", resolve, { once: true }); });
  if (sure.returnValue !== "yes") return;
  if (succeeded(await request("DELETE", `${projectUrl}/documents/${button.dataset.delete}`))) location.reload();
}

onSubmit("new-project", async (form) => {
  const answer = await request("POST", "/v1/projects", Object.fromEntries(form));
  if (succeeded(answer)) location.assign(`/projects/${answer.body.name}`);
});
onSubmit("method-form", async () => {
  const menu = document.getElementById("method");
  const chosen = menu.selectedOptions[0];
  if (succeeded(await request("PATCH", projectUrl, { method: chosen.value }))) {
    for (const option of menu.options) option.defaultSelected = option === chosen;
    tell(say("saved"));
  }
  menu.form.reset(); // to the method that the project has
});
onSubmit("member-form", async () => {
  const [name, role] = ["member", "member-role"].map((id) => document.getElementById(id).value.trim());
  if (succeeded(await request("PUT", `${projectUrl}/members/${encodeURIComponent(name)}`, { role }))) location.reload();
});
if (document.getElementById("drop")) prepareDrop(document.getElementById("drop"));
for (const link of document.querySelectorAll("a[download]")) {
  link.addEventListener("click", () => warnOfBroken(link.pathname.replace(/\/file$/, "")));
}
for (const button of document.querySelectorAll("[data-delete]")) {
  button.addEventListener("click", () => deleteDocument(button));
}
for (const button of document.querySelectorAll("[data-remove]")) {
  button.addEventListener("click", async () => {
    const answer = await request("DELETE", `${projectUrl}/members/${encodeURIComponent(button.dataset.remove)}`);
    if (succeeded(answer)) location.reload();
  });
}
