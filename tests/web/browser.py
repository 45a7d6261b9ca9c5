"""A headless Chromium, driven over WebDriver's own protocol: JSON over HTTP to chromedriver."""

import base64
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import requests

from streaming.loopback.ports import free_port

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
MISSING = "" if CHROMIUM and DRIVER else "no chromium with chromedriver: apt-get install chromium chromium-driver"
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Look(NamedTuple):
    """How a page is looked at."""

    width: int = 1440
    height: int = 900
    dark: bool = False
    language: str = "en"
    javascript: bool = True


WIDE = Look()


class Browser:
    def __init__(self, address: str, look: Look) -> None:
        arguments = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
            f"--window-size={look.width},{look.height}", f"--lang={look.language}",
        ]  # fmt: skip
        options: dict[str, Any] = {"binary": CHROMIUM, "args": arguments}
        options["prefs"] = {"intl.accept_languages": look.language}
        if not look.javascript:
            options["prefs"]["profile.managed_default_content_settings.javascript"] = 2
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self._address = address
        self._look = look
        answer = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"/session/{answer['sessionId']}"
        self._emulate()

    def open(self, address: str) -> None:
        self._command("POST", "/url", {"url": address})

    def run(self, script: str, *arguments: Any) -> Any:
        """The value that the script returns."""
        return self._command("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script: str) -> Any:
        """The value that the script hands to its last argument."""
        return self._command("POST", "/execute/async", {"script": script, "args": []})

    def in_zone(self, name: str) -> None:
        """The browser's time zone from now on."""
        self._devtools("Emulation.setTimezoneOverride", {"timezoneId": name})

    def text(self, selector: str = "body") -> str:
        return str(self.run("return document.querySelector(arguments[0]).innerText", selector))

    def click(self, selector: str) -> None:
        self._command("POST", f"/element/{self._find(selector)}/click", {})

    def click_element(self, element: dict[str, str]) -> None:
        """``element``: as a script has returned it."""
        self._command("POST", f"/element/{element[_ELEMENT]}/click", {})

    def type(self, selector: str, text: str) -> None:
        self._command("POST", f"/element/{self._find(selector)}/value", {"text": text})

    def keys(self, text: str) -> None:
        """Typed wherever the focus is."""
        active = self._command("GET", "/element/active")[_ELEMENT]
        self._command("POST", f"/element/{active}/value", {"text": text})

    def wait_for(self, script: str, seconds: float = 15) -> Any:
        """The first true value of the script."""
        until = time.monotonic() + seconds
        while not (found := self.run(script)):
            assert time.monotonic() < until, f"not within {seconds} s: {script}\n{self.text()[:2000]}"
            time.sleep(0.1)
        return found

    def faults(self) -> list[str]:
        """What the browser's console says of errors: blocked styles and scripts among them."""
        log = self._command("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in log if entry["level"] in ("SEVERE", "WARNING")]

    def picture(self, path: Path, whole: bool = True) -> None:
        """A PNG of the whole page, or of its first screen."""
        height = self._look.height
        if whole:
            height = max(height, int(self.run("return document.documentElement.scrollHeight")))
        self._metrics(min(height, 6000))
        shot = self._devtools("Page.captureScreenshot", {"format": "png"})
        path.write_bytes(base64.b64decode(shot["data"]))
        self._metrics(self._look.height)

    def close(self) -> None:
        self._command("DELETE", "")

    def _emulate(self) -> None:
        self._metrics(self._look.height)
        scheme = "dark" if self._look.dark else "light"
        self._devtools("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def _metrics(self, height: int) -> None:
        size = {"width": self._look.width, "height": height, "deviceScaleFactor": 1}
        self._devtools("Emulation.setDeviceMetricsOverride", {**size, "mobile": self._look.width < 600})

    def _devtools(self, command: str, parameters: dict[str, Any]) -> Any:
        return self._command("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def _find(self, selector: str) -> str:
        return str(self._command("POST", "/element", {"using": "css selector", "value": selector})[_ELEMENT])

    def _command(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        return self._ask(method, self._session + path, body)

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        answer = requests.request(method, self._address + path, json=body, timeout=60)
        value = answer.json()["value"]
        assert answer.ok, value
        return value


@contextmanager
def driver() -> Iterator[str]:
    """A chromedriver of its own; its address."""
    assert DRIVER is not None
    port = free_port()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([DRIVER, f"--port={port}"], **quiet)  # type: ignore[call-overload]
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_until_ready(address)
        yield address
    finally:
        process.terminate()
        process.wait(10)


@contextmanager
def browser(address: str, look: Look = WIDE) -> Iterator[Browser]:
    """``address``: of the driver."""
    one = Browser(address, look)
    try:
        yield one
    finally:
        one.close()


def _wait_until_ready(address: str) -> None:
    until = time.monotonic() + 30
    while True:
        try:
            if requests.get(f"{address}/status", timeout=2).json()["value"]["ready"]:
                return
        except requests.RequestException:
            pass
        assert time.monotonic() < until, "chromedriver does not answer"
        time.sleep(0.1)
