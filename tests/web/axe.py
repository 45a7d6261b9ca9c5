"""axe-core, which finds what screen readers and people with weak eyes stumble over. Where npm has installed it."""

import shutil
import subprocess
from pathlib import Path

from tests.web.browser import Browser

AXE_MISSING = "no axe-core: npm install --global axe-core"


def _installed() -> Path | None:
    npm = shutil.which("npm")
    if npm is None:
        return None
    root = subprocess.run([npm, "root", "--global"], capture_output=True, text=True, check=False).stdout.strip()
    file = Path(root) / "axe-core" / "axe.min.js"
    return file if file.is_file() else None


AXE = _installed()


def violations(page: Browser) -> list[str]:
    """Of the page as it is shown: the rule, and what breaks it."""
    assert AXE is not None
    page.run(AXE.read_text(encoding="utf-8"))
    return list(page.run_async(
        "const done = arguments[arguments.length - 1];"
        "axe.run().then(found => done(found.violations.flatMap("
        "one => one.nodes.map(node => `${one.id}: ${node.html.slice(0, 200)} ${node.failureSummary.slice(0, 200)}`))))"
    ))  # fmt: skip
