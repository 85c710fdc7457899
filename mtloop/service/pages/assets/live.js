// Live updates: replaces the marked section with the server's newest version while the box is checked.
const board = document.querySelector("[data-live]");
const live = document.getElementById("live");
const state = document.getElementById("state");
const INTERVAL_MS = 2000;
let tag = "";

async function update() {
  if (!live.checked || document.hidden || board.contains(document.activeElement)) return;
  try {
    const response = await fetch(board.dataset.live, { headers: tag ? { "if-none-match": tag } : {}, cache: "no-store" });
    if (response.status === 200) {
      tag = response.headers.get("etag") ?? "";
      board.innerHTML = await response.text();
    }
    state.textContent = response.status === 200 || response.status === 304 ? "" : "The service did not respond; trying again.";
  } catch {
    state.textContent = "The service is not reachable; trying again.";
  }
}

setInterval(update, INTERVAL_MS);
document.addEventListener("visibilitychange", update);
live.addEventListener("change", update);
