// Live updates, the age of the data, the search and the keyboard. Without this script the pages show the same.
"use strict";
(() => {
  const body = document.body;
  document.documentElement.classList.add("scripted");
  const $ = (selector) => document.querySelector(selector);
  let source = null;
  let pending = false;
  let connected = true;
  let age = null; // of the newest data, in milliseconds, when `counted` was
  let counted = 0;

  // The light shows the age of the data. It counts on by itself, so it needs no connection to become red.
  const readAge = () => {
    const given = $("#live").dataset.age;
    age = given === undefined || given === "" ? null : Number(given);
    counted = performance.now();
  };
  const written = (ms) => {
    const [s, min, h, d] = $("#live").dataset.units.split(",");
    const seconds = Math.max(0, Math.floor(ms / 1000));
    const [, divisor, unit] = [[120, 1, s], [7200, 60, min], [172800, 3600, h], [Infinity, 86400, d]].find(([limit]) => seconds < limit);
    return `${Math.floor(seconds / divisor)} ${unit}`;
  };
  const showAge = () => {
    const sign = $("#live");
    if (age === null) return;
    const now = age + performance.now() - counted;
    const state = now > sign.dataset.blind ? "blind" : now > sign.dataset.late ? "late" : "ok";
    sign.className = `live is-${state}`;
    sign.textContent = sign.dataset.text.replace("{age}", written(now)) + (connected ? "" : ` · ${sign.dataset.off}`);
  };

  const isBusy = () => {
    const field = document.activeElement;
    const typing = field && field.closest("form") && field.matches("input, select, textarea") && field.id !== "search";
    return typing || String(window.getSelection()).length > 0;
  };
  const kept = (selector, read) => Object.fromEntries([...document.querySelectorAll(selector)].map((one, i) => [one.id || i, read(one)]));
  const again = (selector, was, write) => document.querySelectorAll(selector).forEach((one, i) => { if ((one.id || i) in was) write(one, was[one.id || i]); });
  const replace = (html) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    const wasOpen = kept("main details", (one) => one.open);
    const was = kept("main .scroll", (one) => [one.scrollLeft, one.scrollTop]);
    const focus = document.activeElement;
    const [id, link] = [focus && focus.id, focus && focus.getAttribute && focus.getAttribute("href")];
    const typed = id === "search" ? [focus.value, focus.selectionStart] : null;
    for (const part of ["main", "#reader"]) $(part).replaceWith(document.importNode(page.querySelector(part), true));
    document.title = page.title;
    body.dataset.number = page.body.dataset.number;
    again("main details", wasOpen, (one, open) => { one.open = open; });
    again("main .scroll", was, (one, at) => { [one.scrollLeft, one.scrollTop] = at; });
    const next = (id && document.getElementById(id)) || (link && $(`main a[href="${CSS.escape(link)}"]`));
    if (next) next.focus({ preventScroll: true });
    if (typed && next) { next.value = typed[0]; next.setSelectionRange(typed[1], typed[1]); }
    readAge();
    showAge();
  };
  let newest = 0;
  let retry = null;
  const load = async (address) => {
    const mine = ++newest;
    clearTimeout(retry);
    try {
      const answer = await fetch(address, { headers: { "X-Live": "1" }, cache: "no-store" });
      const html = await answer.text();
      if (mine !== newest) return;
      if (answer.ok) replace(html);
      // The server has too much to do: not all pages shall ask again at the same time.
      else if (answer.status === 503) retry = setTimeout(refresh, 2000 * (1 + Math.random()));
    } catch { connected = false; showAge(); }
  };
  const refresh = () => {
    pending = document.hidden || isBusy();
    return pending ? null : load(location.href);
  };
  const listen = () => {
    if (!body.dataset.live || !window.EventSource) return;
    const address = new URL(body.dataset.live, location.origin);
    address.searchParams.set("after", body.dataset.number);
    source = new EventSource(address);
    source.onopen = () => { connected = true; showAge(); };
    source.onerror = () => { connected = false; showAge(); };
    source.addEventListener("changed", refresh);
    source.addEventListener("seen", (event) => {
      if (age === null || event.data === "") return;
      age = Number(event.data);
      counted = performance.now();
      showAge();
    });
  };

  // The search and the sorting react at once; the address says what is shown, so that it can be shared.
  const show = () => {
    const form = $("form.filter");
    const wanted = new URLSearchParams([...new FormData(form)].filter(([name, value]) => value && !(name === "sort" && value === "worst")));
    const path = form.getAttribute("action");
    const address = wanted.size ? `${path}?${wanted}` : path;
    history.replaceState(null, "", address);
    return load(address);
  };
  let typing = null;
  document.addEventListener("input", (event) => {
    if (!event.target.closest("form.filter")) return;
    clearTimeout(typing);
    typing = setTimeout(show, event.target.id === "search" ? 150 : 0);
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form.filter")) return;
    event.preventDefault();
    show();
  });

  // "/" searches, arrows go through the groups.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const field = event.target.matches("input, select, textarea");
    const search = document.getElementById("search");
    if (event.key === "/" && !field && search) {
      event.preventDefault();
      search.focus();
      search.select();
      return;
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const rows = [...document.querySelectorAll(".groups th[scope=row] a")];
    if (!step || !rows.length || (field && event.target !== search)) return;
    const at = rows.indexOf(document.activeElement.closest("tr")?.querySelector("th[scope=row] a"));
    const next = at < 0 ? (step > 0 ? rows[0] : null) : at + step < 0 ? search : rows[at + step];
    if (next) { event.preventDefault(); next.focus(); }
  });

  // A link to what is shown.
  document.addEventListener("click", async (event) => {
    const link = event.target.closest("a.share");
    if (!link || !navigator.clipboard) return;
    event.preventDefault();
    await navigator.clipboard.writeText(link.href);
    link.textContent = link.dataset.copied;
  });

  // A command, as it stands there. Where a page is no secure context there is no clipboard but that of the selection.
  const copied = (code) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(code.textContent).then(() => true, () => selected(code));
    return selected(code);
  };
  const selected = (code) => {
    window.getSelection().selectAllChildren(code);
    const done = document.execCommand("copy");
    if (done) window.getSelection().removeAllRanges();
    return done;
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button.copy");
    if (button && (await copied(button.previousElementSibling))) button.textContent = button.dataset.copied;
  });

  // The server shows times in the zone that the browser names. Where that makes no difference, the page stays as it is.
  const clocksNow = () => {
    const minutes = -new Date().getTimezoneOffset();
    const two = (number) => String(Math.floor(Math.abs(number))).padStart(2, "0");
    return minutes ? `UTC${minutes < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}` : "UTC";
  };
  const tellZone = () => {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (!zone || document.cookie.split("; ").includes(`browser_zone=${zone}`)) return;
    document.cookie = `browser_zone=${zone}; path=/; max-age=31536000; samesite=strict`;
    if (document.cookie.includes("browser_zone=") && $("#reader").dataset.zone !== clocksNow()) load(location.href);
  };

  document.addEventListener("visibilitychange", () => { if (!document.hidden && pending) refresh(); });
  document.addEventListener("focusout", () => setTimeout(() => { if (pending) refresh(); }, 200));
  window.addEventListener("pagehide", () => { if (source) source.close(); });
  window.addEventListener("pageshow", (event) => { if (event.persisted) listen(); });
  readAge();
  setInterval(showAge, 1000);
  tellZone();
  listen();
})();
