"""Secrets of sinks, read where the alert rules say that they are."""

import os
from collections.abc import Mapping
from pathlib import Path

from streaming.config.alerts import SecretPlace


def text_file_fault(path: str) -> str | None:
    """What a file of text that is not empty should be, where this is none."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError:
        return "a file that exists and can be read"
    except UnicodeDecodeError:
        return "a file of text"
    return None if text.strip() else "a file that is not empty"


def secret_at(place: SecretPlace | None, environ: Mapping[str, str] | None = None) -> str:
    """The secret itself, empty where there is none. ``environ``: the process's own if not given."""
    if place is None:
        return ""
    if place.file:
        return Path(place.file).read_text(encoding="utf-8").strip()
    return (os.environ if environ is None else environ)[place.env].strip()
