"use strict";
(() => {
  const root = document.documentElement;
  const tip = document.getElementById("tip");

  // Colours: as the reader's system has them, or light, or dark.
  const themes = ["auto", "light", "dark"];
  const name = document.getElementById("theme-name");
  const recall = () => { try { return localStorage.getItem("tnsearch-theme"); } catch { return null; } };
  const show = (theme) => {
    if (theme === "auto") delete root.dataset.theme; else root.dataset.theme = theme;
    name.textContent = theme;
  };
  let theme = themes.includes(recall()) ? recall() : "auto";
  show(theme);
  document.getElementById("theme").addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    show(theme);
    try { localStorage.setItem("tnsearch-theme", theme); } catch { /* a page from disk may have no storage */ }
  });

  // Without this script the browser shows the titles itself.
  for (const title of document.querySelectorAll(".tn-fig title")) {
    const mark = title.parentElement;
    if (mark.tagName.toLowerCase() === "svg") continue;
    mark.dataset.tip = title.textContent;
    title.remove();
  }

  let lit = null;
  const hide = () => { tip.hidden = true; if (lit) lit.classList.remove("at"); lit = null; };
  const say = (mark, x, y) => {
    if (lit && lit !== mark) lit.classList.remove("at");
    lit = mark;
    if (mark.matches("circle,rect")) mark.classList.add("at");
    tip.textContent = mark.dataset.tip;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.max(6, Math.min(x + 14, innerWidth - box.width - 6));
    const top = y - box.height - 12 > 4 ? y - box.height - 12 : y + 18;
    tip.style.transform = `translate(${left}px,${top}px)`;
  };
  document.addEventListener("pointermove", (e) => {
    const mark = e.target.closest && e.target.closest("[data-tip]");
    if (mark) say(mark, e.clientX, e.clientY); else if (e.pointerType === "mouse") hide();
  });
  document.addEventListener("pointerdown", (e) => {
    const mark = e.target.closest && e.target.closest("[data-tip]");
    if (mark) say(mark, e.clientX, e.clientY); else hide();
  });
  addEventListener("scroll", hide, { passive: true });

  // The marks of a figure by keyboard, from left to right.
  for (const figure of document.querySelectorAll("svg.tn-fig")) {
    const marks = () => [...figure.querySelectorAll("[data-tip]")].filter((m) => !m.matches("path"));
    if (!figure.querySelector("[data-tip]")) continue;
    figure.tabIndex = 0;
    let at = -1, sorted = null;
    figure.addEventListener("keydown", (e) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -1e9, End: 1e9 }[e.key];
      if (e.key === "Escape") hide();
      if (!step) return;
      e.preventDefault();
      sorted ??= marks().map((m) => [m.getBoundingClientRect().left, m]).sort((a, b) => a[0] - b[0]).map((p) => p[1]);
      if (!sorted.length) return;
      at = Math.max(0, Math.min(sorted.length - 1, at + step));
      const box = sorted[at].getBoundingClientRect();
      say(sorted[at], box.left + box.width / 2, box.top);
    });
    figure.addEventListener("blur", hide);
  }
  for (const box of document.querySelectorAll(".scroll")) {
    if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
  }

  // The Pareto front, point by point: the numbers are those of its table.
  const slider = document.getElementById("front-at");
  const points = [...document.querySelectorAll("#front tbody tr")];
  if (slider && points.length) {
    const says = document.getElementById("front-says");
    const fronts = [...document.querySelectorAll('g[data-layer="front"]')].map((g) => [...g.querySelectorAll("circle")]);
    const pick = () => {
      const at = Number(slider.value);
      says.replaceChildren(...[...points[at].cells].map((cell) => {
        const part = document.createElement("span"), name = document.createElement("i"), value = document.createElement("b");
        name.textContent = cell.dataset.h;
        value.textContent = cell.textContent;
        if (cell.textContent.length > 24) part.className = "long";
        part.append(name, value);
        return part;
      }));
      slider.setAttribute("aria-valuetext", `${points[at].cells[0].textContent} params`);
      for (const dots of fronts) dots.forEach((dot, k) => dot.classList.toggle("picked", k === at && dots.length >= points.length));
    };
    slider.addEventListener("input", pick);
    slider.closest(".slider").hidden = false;
    pick();
  }

  // Copies.
  const copy = async (text, button) => {
    let done = true;
    try { await navigator.clipboard.writeText(text); } catch {
      const area = document.createElement("textarea");
      area.value = text;
      area.style.position = "fixed";
      document.body.append(area);
      area.select();
      done = document.execCommand("copy");
      area.remove();
    }
    const before = button.dataset.text ??= button.textContent;
    button.textContent = done ? "Copied" : "Could not copy";
    setTimeout(() => { button.textContent = before; }, 1500);
  };
  const field = (cell) => {
    const text = cell.dataset.v ?? cell.textContent.replace(/[\u202f\u00a0]/g, "");
    return /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  const csv = (table) => [...table.rows].map((row) => [...row.cells].map(field).join(",")).join("\n") + "\n";
  for (const button of document.querySelectorAll("button.csv")) {
    button.addEventListener("click", () => copy(csv(button.closest(".table").querySelector("table")), button));
  }
  for (const button of document.querySelectorAll("button.copy")) {
    button.addEventListener("click", () => copy(button.closest(".command").querySelector("code").textContent, button));
  }
})();
