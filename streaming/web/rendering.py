"""Templates to HTML. Every value is escaped, and control characters in names are made visible."""

from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from hashlib import sha256
from importlib.resources import files
from typing import Any, NamedTuple
from urllib.parse import urlencode

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup

from streaming.wording.names import cut_middle, plain

LONGEST_NAME = 255
MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class StaticFile(NamedTuple):
    """A static file. ``version``: a hash of its content, in its address, so that a browser may cache it for ever."""

    content: bytes
    media_type: str
    version: str


def visible(value: Any) -> Any:
    """The text that a template prints: control characters and marks of text direction are escaped visibly."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return plain(value if len(value) <= 10_000 else value[:10_000])
    return value


def short_name(name: str, width: int = 60) -> str:
    """A name cut to the available room; its beginning and end are kept."""
    return cut_middle(plain(name[:LONGEST_NAME]), width)


def address(path: str, **values: object) -> str:
    """An address on this server, without empty values."""
    query = urlencode({name: value for name, value in values.items() if value not in ("", None)}, errors="replace")
    return f"{path}?{query}" if query else path


def machine_time(ts: int) -> str:
    """A time in the form of ``<time datetime>``."""
    try:
        return datetime.fromtimestamp(ts / 1000, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return ""


def typed_time(ts: int, zone: tzinfo | None) -> str:
    """A time in the form of an input field for date and time: the reader's, without the zone."""
    try:
        return f"{datetime.fromtimestamp(ts / 1000, UTC).astimezone(zone):%Y-%m-%dT%H:%M}"
    except (ValueError, OverflowError, OSError):
        return ""


def read_static() -> dict[str, StaticFile]:
    found = {}
    for file in (files("streaming.web") / "static").iterdir():
        ending = f".{file.name.rpartition('.')[2]}"
        if ending in MEDIA_TYPES:
            content = file.read_bytes()
            found[file.name] = StaticFile(content, MEDIA_TYPES[ending], sha256(content).hexdigest()[:12])
    return found


def renderer(static: dict[str, StaticFile]) -> Callable[..., str]:
    """Return a function that makes HTML from a template's name and its values."""
    folder = files("streaming.web") / "templates"
    templates = {
        file.name: file.read_text(encoding="utf-8") for file in folder.iterdir() if file.name.endswith(".html")
    }
    environment = Environment(
        loader=DictLoader(templates),
        autoescape=True,
        finalize=visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals |= {
        "address": address,
        "machine_time": machine_time,
        "short_name": short_name,
        "typed_time": typed_time,
        "static": lambda name: address(f"/static/{name}", v=static[name].version),
    }

    def render(template: str, **values: Any) -> str:
        return environment.get_template(template).render(**values)

    return render
