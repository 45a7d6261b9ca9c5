// Live updates: the server says that something has changed, and the page fetches itself again. Nothing else is done here.
"use strict";
(() => {
  const body = document.body;
  const sign = document.getElementById("live");
  if (!body.dataset.live || !window.EventSource) return;
  let source = null;
  let pending = false;

  const show = (on) => {
    sign.hidden = false;
    sign.textContent = on ? sign.dataset.on : sign.dataset.off;
    sign.classList.toggle("off", !on);
  };
  const isBusy = () => {
    const field = document.activeElement;
    const typing = field && field.closest("form") && field.matches("input, select, textarea");
    return typing || String(window.getSelection()).length > 0;
  };
  const opened = () => [...document.querySelectorAll("main details")].map((one) => one.open);
  const scrolled = () => [...document.querySelectorAll("main .scroll")].map((one) => [one.scrollLeft, one.scrollTop]);
  const replace = (html) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    const [wasOpen, was] = [opened(), scrolled()];
    const focused = document.activeElement && document.activeElement.id;
    document.querySelector("main").replaceWith(document.importNode(page.querySelector("main"), true));
    document.title = page.title;
    body.dataset.number = page.body.dataset.number;
    document.querySelectorAll("main details").forEach((one, i) => { if (i in wasOpen) one.open = wasOpen[i]; });
    document.querySelectorAll("main .scroll").forEach((one, i) => { if (i in was) [one.scrollLeft, one.scrollTop] = was[i]; });
    if (focused && document.getElementById(focused)) document.getElementById(focused).focus({ preventScroll: true });
  };
  const refresh = async () => {
    if (document.hidden || isBusy()) { pending = true; return; }
    pending = false;
    try {
      const answer = await fetch(location.href, { headers: { "X-Live": "1" }, cache: "no-store" });
      if (answer.ok) replace(await answer.text());
    } catch { show(false); }
  };
  const listen = () => {
    const address = new URL(body.dataset.live, location.origin);
    address.searchParams.set("after", body.dataset.number);
    source = new EventSource(address);
    source.onopen = () => show(true);
    source.onerror = () => show(false);
    source.addEventListener("changed", refresh);
  };
  document.addEventListener("visibilitychange", () => { if (!document.hidden && pending) refresh(); });
  document.addEventListener("focusout", () => setTimeout(() => { if (pending) refresh(); }, 200));
  window.addEventListener("pagehide", () => { if (source) source.close(); });
  window.addEventListener("pageshow", (event) => { if (event.persisted) listen(); });
  listen();
})();
