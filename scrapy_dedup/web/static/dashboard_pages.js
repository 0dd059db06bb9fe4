// Pages about one domain: what a configuration would do to a stored page, while it is typed. All works without it.
"use strict";

const TYPED_MS = 400;

function followForm(form) {
  const shown = form.querySelector("[data-preview]");
  const token = document.querySelector('meta[name="csrf-token"]').content;
  let timer = 0;
  let asked = null;
  let last = "";

  async function look() {
    const body = new URLSearchParams(new FormData(form));
    body.delete("csrf_token");
    if (body.toString() === last) return;
    last = body.toString();
    if (asked) asked.abort();
    asked = new AbortController();
    const mine = asked;
    shown.setAttribute("aria-busy", "true");
    try {
      const response = await fetch(shown.dataset.preview, {
        method: "POST", body, signal: mine.signal, headers: { "X-CSRF-Token": token, Accept: "text/html" },
      });
      const text = await response.text();
      if (response.ok && !response.redirected) put(text);
      else tell(`The server answered ${response.status}: load the page again if that stays so.`);
    } catch (error) {
      if (error.name === "AbortError") return;
      last = "";
      tell("The server does not answer.");
    }
    if (asked === mine) shown.setAttribute("aria-busy", "false");
  }

  function put(text) {
    // Whoever scrolled to a block is to see what becomes of it.
    const places = [...shown.querySelectorAll(".scroll")].map((pane) => pane.scrollTop);
    shown.innerHTML = text;
    shown.querySelectorAll(".scroll").forEach((pane, number) => { pane.scrollTop = places[number] || 0; });
  }

  function tell(text) {
    const told = document.createElement("p");
    told.className = "wrong-field";
    told.textContent = text;
    shown.replaceChildren(told);
  }

  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(look, TYPED_MS);
  });
}

document.querySelectorAll("form.config").forEach(followForm);
