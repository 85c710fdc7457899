// What the pages of campaigns share: texts of the language, and the line that says what happened.
const pageData = JSON.parse(document.getElementById("page-data").textContent);
const say = (key, values) => filled(pageData.texts[key], values);
const said = document.getElementById("said");

function tell(text, wrong = false) {
  said.textContent = text;
  said.classList.toggle("error", wrong);
}

// True if the service did what it was asked for; else its answer is shown.
function succeeded(answer) {
  if (answer.status >= 200 && answer.status < 300) return true;
  tell(answer.status === 0 ? say("offline") : say("problem", { detail: refusalOf(answer, pageData.refused) }), true);
  return false;
}
