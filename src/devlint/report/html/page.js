"use strict";
(() => {
  const root = document.documentElement;
  const one = (name) => document.getElementById(name);
  const all = (selector) => [...document.querySelectorAll(selector)];

  // Some browsers keep nothing for a page that lies in a file.
  const kept = (name, value) => {
    try {
      if (value === undefined) return localStorage.getItem(`devlint-${name}`);
      localStorage.setItem(`devlint-${name}`, value);
    } catch {
      return null;
    }
    return value;
  };

  // --- light and dark

  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches;
  const sayTheme = () => {
    one("theme").textContent = isDark() ? "Light" : "Dark";
  };
  const turn = () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    kept("theme", root.dataset.theme);
    sayTheme();
  };
  if (["light", "dark"].includes(kept("theme"))) root.dataset.theme = kept("theme");
  prefersDark.addEventListener("change", sayTheme);
  one("theme").addEventListener("click", turn);
  sayTheme();
  all(".buttons").forEach((each) => each.removeAttribute("hidden"));

  // --- the filter

  const form = one("filter");
  const stops = all("article.finding, [data-stop]");
  if (form) {
    const files = all("section.file").map((section) => ({
      section,
      entry: document.querySelector(`li[data-file="${section.id.slice(4)}"]`),
      findings: [...section.querySelectorAll("article.finding")],
    }));
    const words = new Map();
    const textOf = (finding) => {
      if (!words.has(finding)) words.set(finding, finding.textContent.toLowerCase());
      return words.get(finding);
    };
    const apply = () => {
      const [rule, folder, level] = ["rule", "folder", "level"].map((name) => one(name).value);
      const least = Number(one("confidence").value);
      const wanted = one("words").value.toLowerCase().split(/\s+/).filter(Boolean);
      const fits = (finding) => {
        const data = finding.dataset;
        return (
          (!rule || data.rule === rule) &&
          (!level || data.level === level) &&
          (!folder || data.path.startsWith(`${folder}/`)) &&
          Number(data.confidence) >= least &&
          wanted.every((word) => textOf(finding).includes(word))
        );
      };
      let count = 0;
      for (const { section, entry, findings } of files) {
        let here = 0;
        for (const finding of findings) {
          finding.hidden = !fits(finding);
          here += !finding.hidden;
        }
        section.hidden = entry.hidden = !here;
        entry.querySelector(".many").textContent = here.toLocaleString("en");
        count += here;
      }
      one("confidence-value").textContent = String(least);
      const total = stops.length.toLocaleString("en");
      one("count").textContent = `${count.toLocaleString("en")} of ${total} shown`;
    };
    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(apply));
    form.hidden = false;
    apply();
  }

  // Screen readers are told of what is drawn: all is, as soon as there is time for it.
  const waiting = all("article.finding");
  const draw = () => {
    // What is read stays where it is while others above it get their heights.
    const top = (stop) => stop.getBoundingClientRect().top;
    const read = scrollY > 0 && stops.find((stop) => !stop.hidden && top(stop) > 0);
    const before = read && top(read);
    waiting.splice(0, 25).forEach((finding) => finding.classList.add("drawn"));
    if (read) scrollBy({ top: top(read) - before, behavior: "instant" });
    if (waiting.length) setTimeout(draw, 30);
  };
  addEventListener("load", () => setTimeout(draw, 30));

  // --- keys

  const help = one("help");
  const showHelp = () => {
    if (!help.open) help.showModal();
  };
  one("show-help").addEventListener("click", showHelp);
  one("keys").checked = kept("keys") !== "off";
  one("keys").addEventListener("change", (event) => {
    kept("keys", event.target.checked ? "on" : "off");
  });

  const go = (by) => {
    const shown = stops.filter((stop) => !stop.hidden);
    const current = shown.findIndex((stop) => stop.contains(document.activeElement));
    const at = current < 0 ? (by > 0 ? 0 : shown.length - 1) : current + by;
    const next = shown[Math.min(Math.max(at, 0), shown.length - 1)];
    if (!next) return;
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "start", behavior: "instant" });
  };
  const keys = {
    j: () => go(1),
    k: () => go(-1),
    t: turn,
    "?": showHelp,
    "/": () => (one("words") || one("main")).focus(),
  };
  document.addEventListener("keydown", (event) => {
    const field = event.target.closest("input:not([type=checkbox]), select, textarea");
    if (event.key === "Escape" && field) field.blur();
    if (field || event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (!one("keys").checked || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
})();
