// One campaign: links for raters, stop and delete, and the newest ratings every few seconds.
const INTERVAL_MS = 3000;
const campaignUrl = `/v1/campaigns/${encodeURIComponent(pageData.campaign)}`;
const board = document.getElementById("progress");
let tag = "";

async function update() {
  if (document.hidden || board.contains(document.activeElement)) return;
  try {
    const headers = tag ? { "if-none-match": tag } : {};
    const response = await fetch(`${location.pathname}/progress${location.search}`, { headers, cache: "no-store" });
    if (response.status !== 200) return;
    tag = response.headers.get("etag") ?? "";
    board.innerHTML = await response.text(); // rendered by the server, which escapes every text
  } catch {
    // The next update tries again.
  }
}

async function makeLink(name, renew) {
  const answer = await request("POST", `${campaignUrl}/raters`, { name, renew });
  if (!succeeded(answer)) return;
  tell("");
  document.getElementById("made-text").textContent = say("made", { name });
  document.getElementById("link").value = location.origin + answer.body.link;
  document.getElementById("made").hidden = false;
  document.getElementById("link").focus();
  await update();
}

async function confirmed(text) {
  const sure = document.getElementById("sure");
  document.getElementById("sure-text").textContent = text;
  sure.returnValue = "no";
  sure.showModal();
  await new Promise((resolve) => { sure.addEventListener("close", resolve, { once: true }); });
  return sure.returnValue === "yes";
}

document.getElementById("add-rater").addEventListener("submit", async (event) => {
  event.preventDefault();
  const input = document.getElementById("rater");
  await makeLink(input.value.trim(), false);
});
board.addEventListener("click", async (event) => {
  const name = event.target.closest("[data-renew]")?.dataset.renew;
  if (name && await confirmed(say("renew_sure", { name }))) await makeLink(name, true);
});
document.getElementById("copy").addEventListener("click", async () => {
  await copyText(document.getElementById("link"));
  tell(say("copied"));
});
document.getElementById("stop").addEventListener("click", async (event) => {
  const stopped = event.target.dataset.stopped !== "true";
  if (succeeded(await request("PATCH", campaignUrl, { stopped }))) location.reload();
});
document.getElementById("delete").addEventListener("click", async () => {
  if (!await confirmed(say("delete_sure", { name: pageData.campaign }))) return;
  if (succeeded(await request("DELETE", campaignUrl))) location.assign("/organiser/campaigns");
});
setInterval(update, INTERVAL_MS);
document.addEventListener("visibilitychange", update);
