// What the dashboard does beyond links and forms: live parts, and choosing rows. Every page works without it.
"use strict";

document.documentElement.classList.add("js");

// Live parts: an element with data-live is replaced by what its path answers, every two seconds while it runs.
const EVERY_MS = 2000;
const SAY_EVERY_MS = 15000;

function announcer() {
  let region = document.getElementById("announcer");
  if (!region) {
    region = document.createElement("div");
    region.id = "announcer";
    region.className = "unseen";
    region.setAttribute("role", "status");
    region.setAttribute("aria-live", "polite");
    document.body.append(region);
  }
  return region;
}

function say(text) {
  const region = announcer();
  if (text && region.textContent !== text) region.textContent = text;
}

function isBusy(part) {
  // Whoever is on a link or a button in it must not lose his place.
  return document.hidden || part.contains(document.activeElement);
}

function follow(part) {
  const path = part.dataset.live;
  let saidAt = Date.now();
  let failures = 0;

  async function look() {
    if (!part.isConnected) return;
    if (isBusy(part)) { setTimeout(look, EVERY_MS); return; }
    try {
      const response = await fetch(path, { headers: { Accept: "text/html" }, cache: "no-store" });
      if (response.status === 401 || response.redirected) { location.reload(); return; }
      if (!response.ok) throw new Error(String(response.status));
      const holder = document.createElement("template");
      holder.innerHTML = await response.text();
      const fresh = holder.content.firstElementChild;
      if (!fresh) return;
      const state = part.dataset.state;
      part.replaceWith(fresh);
      part = fresh;
      failures = 0;
      const told = fresh.querySelector(".announce");
      if (told && (fresh.dataset.state !== state || Date.now() - saidAt > SAY_EVERY_MS)) {
        say(told.textContent);
        saidAt = Date.now();
      }
    } catch (error) {
      failures += 1;
    }
    // One that has ended, or went silent, is looked at less often; so is a server that does not answer.
    const slow = part.dataset.state === "silent" ? 5 : 1;
    if (part.dataset.live) setTimeout(look, EVERY_MS * Math.min(slow + failures, 15));
  }
  setTimeout(look, EVERY_MS);
}

document.querySelectorAll("[data-live]").forEach(follow);

// Choosing rows: one box for all of a page, and how many are chosen.
function showChosen(name) {
  const boxes = [...document.querySelectorAll(`input[type="checkbox"][name="${name}"]`)];
  const chosen = boxes.filter((box) => box.checked).length;
  const all = document.querySelector(`[data-all="${name}"]`);
  if (all) {
    all.checked = chosen > 0 && chosen === boxes.length;
    all.indeterminate = chosen > 0 && chosen < boxes.length;
  }
  const told = document.querySelector(`[data-chosen="${name}"]`);
  if (told) told.textContent = chosen === 1 ? "With the chosen one:" : `With the ${chosen} chosen ones:`;
  const bulk = told && told.closest("fieldset");
  if (bulk) bulk.hidden = chosen === 0;
}

document.querySelectorAll("[data-all]").forEach((all) => {
  const name = all.dataset.all;
  all.addEventListener("change", () => {
    document.querySelectorAll(`input[type="checkbox"][name="${name}"]`).forEach((box) => { box.checked = all.checked; });
    showChosen(name);
  });
  document.addEventListener("change", (event) => { if (event.target.name === name) showChosen(name); });
  // A browser that goes back fills the boxes in after this has run.
  window.addEventListener("pageshow", () => showChosen(name));
  showChosen(name);
});
