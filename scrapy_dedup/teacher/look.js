// What a page looks like: one expression, one pass, nothing written to the page. Given the name of the attribute that
// numbers elements; gives plain numbers alone, which scrapy_dedup.core.teacher.rendered reads. Flags are those of its class Flag.
(attribute) => {
  const MOST = 20000;
  const FIXED = 1, STICKY = 2, ABSOLUTE = 4, NOT_DISPLAYED = 8, INVISIBLE = 16, TRANSPARENT = 32, CLIPPED = 64,
    OFF_SCREEN = 128, SAME_COLOUR = 256, NO_SIZE = 512, IN_LINK = 1024, IN_BUTTON = 2048, PANEL = 4096;
  const UNSEEN = NOT_DISPLAYED | INVISIBLE | TRANSPARENT | CLIPPED | OFF_SCREEN | SAME_COLOUR | NO_SIZE;
  const SKIPPED = new Set(("SVG OBJECT SELECT TEXTAREA HEAD TITLE TEMPLATE DATALIST CANVAS AUDIO VIDEO BUTTON SCRIPT " +
    "STYLE NOSCRIPT IFRAME NOEMBED NOFRAMES").split(" "));
  const MEDIA = "img, picture, video, canvas, iframe, svg";
  const whole = (value) => Math.max(-1e6, Math.min(1e6, Math.round(value) || 0)) | 0;
  const right = Math.max(document.documentElement.scrollWidth, innerWidth);

  // Where a colour is written in a way not read here, nothing is said of it.
  const colour = (text) => {
    const found = /^rgba?\((\d+), (\d+), (\d+)(?:, ([\d.]+))?\)$/.exec(text);
    return found && [+found[1], +found[2], +found[3], found[4] === undefined ? 1 : +found[4]];
  };
  const alike = (one, other) => [0, 1, 2].every((at) => Math.abs(one[at] - other[at]) <= 6);

  // Which ids something on the page opens.
  const opened = new Set();
  for (const node of document.querySelectorAll("[aria-controls], [data-target], [data-bs-target], a[href^='#']")) {
    for (const name of ["aria-controls", "data-target", "data-bs-target", "href"]) {
      const value = node.getAttribute(name);
      if (value && value.length < 200) value.split(/\s+/).forEach((id) => opened.add(id.replace(/^#/, "")));
    }
    if (opened.size > MOST) break;
  }
  opened.delete("");
  const isPanel = (node) => node.getAttribute("role") === "tabpanel" || (node.id && opened.has(node.id)) ||
    (node.tagName === "DETAILS");

  // A picture that lies behind a text, or that may, for it has not come and stands outside the flow.
  const liesOnPicture = (node, box) => {
    for (let above = node, steps = 0; above && above !== document.body && steps < 8; above = above.parentElement, steps++) {
      for (const [name, value] of Object.entries(above.dataset || {})) {
        if (/bg|background|parallax|image|src/i.test(name + " " + value.slice(0, 100))) return true;
      }
      for (const media of Array.from(above.querySelectorAll(MEDIA)).slice(0, 50)) {
        const other = media.getBoundingClientRect();
        if (other.left < box.right && other.right > box.left && other.top < box.bottom && other.bottom > box.top) {
          return true;
        }
        for (let around = media, up = 0; around && around !== above && up < 3; around = around.parentElement, up++) {
          if (/absolute|fixed/.test(getComputedStyle(around).position)) {
            const over = around.offsetParent ? around.offsetParent.getBoundingClientRect() : null;
            if (!over || over.top < box.bottom && over.bottom > box.top) return true;
          }
        }
      }
    }
    return false;
  };

  const elements = [], runs = [];
  let cut = false, left = MOST, asked = 0;
  const range = document.createRange();
  const isFar = (box) => box.right <= 0 || box.bottom + scrollY <= 0 || box.left >= right;

  const ofText = (node, at) => {
    const chars = node.data.replace(/\s+/g, " ").trim().length;
    if (!chars) return;
    let flags = at.flags;
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (at.size < 2) flags |= NO_SIZE;
    if (!(flags & NOT_DISPLAYED)) {
      if (!box.width && !box.height) flags |= at.size < 2 ? NO_SIZE : NOT_DISPLAYED;
      else if (isFar(box)) flags |= OFF_SCREEN;
    }
    if (!(flags & UNSEEN) && at.ink && at.ground && !at.shadow && asked < 200) {
      if (at.ink[3] < 0.05 || alike(at.ink, at.ground)) {
        asked++;
        if (!liesOnPicture(at.node, box)) flags |= SAME_COLOUR;
      }
    }
    runs.push([at.own ? at.number : -1, whole(box.left + scrollX), whole(box.top + scrollY), whole(box.width),
      whole(box.height), flags, whole(at.size * 10), at.weight, chars]);
  };

  const ofElement = (node, above) => {
    const style = getComputedStyle(node), box = node.getBoundingClientRect();
    const raw = node.getAttribute(attribute), own = raw !== null && /^\d{1,6}$/.test(raw);
    let flags = above.flags & ~(OFF_SCREEN | NO_SIZE);
    if (style.position === "fixed") flags |= FIXED;
    else if (style.position === "sticky" || style.position === "-webkit-sticky") flags |= STICKY;
    else if (style.position === "absolute") flags |= ABSOLUTE;
    // Its children may be seen all the same.
    flags = style.visibility === "visible" ? flags & ~INVISIBLE : flags | INVISIBLE;
    if (style.display === "none" || style.contentVisibility === "hidden") flags |= NOT_DISPLAYED;
    if (+style.opacity < 0.05) flags |= TRANSPARENT;
    const hides = /hidden|clip/.test(style.overflowX + style.overflowY) || style.overflow === "hidden";
    if (/absolute|fixed/.test(style.position) && /^rect\((0|1)(px)?,? (0|1)(px)?,? (0|1)(px)?,? (0|1)(px)?\)$/.test(style.clip) ||
        /^inset\((50|100)%/.test(style.clipPath)) flags |= CLIPPED;
    else if (hides && style.display !== "contents" && style.display !== "inline") {
      if (box.width <= 1 && box.height <= 1 && style.position === "absolute") flags |= CLIPPED;
      else if (box.width < 1 || box.height < 1) flags |= NOT_DISPLAYED;
    }
    if (above.closed && node.tagName !== "SUMMARY") flags |= NOT_DISPLAYED;
    if (node.tagName === "A" && node.hasAttribute("href") || node.getAttribute("role") === "link") flags |= IN_LINK;
    if (node.tagName === "BUTTON" || node.getAttribute("role") === "button") flags |= IN_BUTTON;
    if (isPanel(node)) flags |= PANEL;
    if (parseFloat(style.textIndent) <= -500 && hides) flags |= CLIPPED;
    let ground = above.ground;
    const behind = colour(style.backgroundColor);
    if (style.backgroundImage !== "none" || !behind || style.backdropFilter && style.backdropFilter !== "none") ground = null;
    else if (behind[3] > 0.9) ground = behind;
    else if (behind[3] > 0.05) ground = null;
    const fill = style.webkitTextFillColor;
    const at = {
      node, own, number: own ? +raw : above.number, ground,
      flags, size: parseFloat(style.fontSize) || 0, weight: whole(parseFloat(style.fontWeight) || 400),
      ink: /text/.test(style.webkitBackgroundClip || "") ? null : colour(fill || style.color),
      shadow: style.textShadow !== "none" || above.shadow || style.filter !== "none" || style.mixBlendMode !== "normal",
      closed: node.tagName === "DETAILS" && !node.open,
    };
    if (own) {
      if (!(flags & NOT_DISPLAYED) && (box.width || box.height) && isFar(box)) flags |= OFF_SCREEN;
      elements.push([at.number, whole(box.left + scrollX), whole(box.top + scrollY), whole(box.width), whole(box.height),
        flags, whole(at.size * 10), at.weight]);
    }
    return at;
  };

  // A sheet that did not come is none, or empty and without an address of its own; of another host its rules are hidden.
  const links = Array.from(document.querySelectorAll("link[rel~='stylesheet' i]"));
  const came = links.filter((link) => {
    try {
      return link.sheet && link.sheet.cssRules.length > 0;
    } catch {
      return true;
    }
  });
  let written = 0;
  for (const node of document.querySelectorAll("style")) written += node.textContent.length;

  const html = getComputedStyle(document.documentElement);
  const under = colour(html.backgroundColor);
  const start = {
    flags: 0, number: 0, closed: false, shadow: false,
    ground: html.backgroundImage !== "none" ? null : under && under[3] > 0.9 ? under : [255, 255, 255, 1],
  };
  const stack = document.body ? [[document.body, start]] : [];
  while (stack.length) {
    const [node, above] = stack.pop();
    if (--left < 0) {
      cut = true;
      break;
    }
    if (node.nodeType === 3) {
      ofText(node, above);
      continue;
    }
    const at = ofElement(node, above);
    if (SKIPPED.has(node.tagName.toUpperCase())) continue;
    const inside = node.shadowRoot ? [node.shadowRoot, node] : [node];
    for (const part of inside.reverse()) {
      for (let child = part.lastChild; child; child = child.previousSibling) {
        if (child.nodeType === 1 || child.nodeType === 3 && child.data.trim()) {
          stack.push([child, part === node ? at : { ...at, own: false }]);
        }
      }
    }
  }
  return {
    version: 1, width: whole(innerWidth), height: whole(document.documentElement.scrollHeight), cut,
    sheets_wanted: whole(links.length), sheets_came: whole(came.length), css_chars: whole(written), elements, runs,
  };
}
