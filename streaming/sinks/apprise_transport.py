"""The transport of apprise's plugins: HTTP and SMTP within bounds. Other protocols are refused.

The plugins call ``requests.post`` and ``smtplib.SMTP`` by the names of the modules that they import. These names get
bounded modules here.
"""

import io
import smtplib
import socket
import sys
from collections.abc import Iterator
from threading import local
from types import ModuleType
from typing import Any

import requests

from streaming.sinks.answer_limits import BoundedReader, Deadline
from streaming.sinks.bounded_http import exchange

_HTTP_LIMIT_S = 20.0  # of one exchange; apprise itself waits 4 s for each read
_MAIL_LIMIT_S = 60.0
_VERBS = ("get", "options", "head", "post", "put", "patch", "delete")
_UNBOUNDED = frozenset({"Session", "session", "sessions", "adapters", "api"})
_READ_NOTHING = frozenset({"dbus", "glib", "gnome", "macosx", "rsyslog", "syslog", "windows"})
_last = local()


def use_bounds(target: object) -> bool:
    """Bound the modules that this target's plugin uses. Returns whether everything that it reads is bounded."""
    for name, module in list(sys.modules.items()):
        if name.startswith("apprise."):
            _replace(module)
    homes = set(_homes(target))
    used = [module for name, module in sys.modules.items() if ".".join(name.split(".")[:3]) in homes]
    if any("SocketTransport" in vars(module) for module in used):
        return False
    is_silent = any(home.rsplit(".", 1)[1] in _READ_NOTHING for home in homes)
    return is_silent or any(_HTTP in vars(module).values() or _MAIL in vars(module).values() for module in used)


def forget_answer() -> None:
    _last.answer = None


def last_answer() -> requests.Response | None:
    """The answer to this thread's newest HTTP request since ``forget_answer``."""
    return getattr(_last, "answer", None)


class _Requests(ModuleType):
    """``requests`` with bounds; functions without bounds are missing."""

    def __getattr__(self, name: str) -> Any:
        if name in _UNBOUNDED:
            raise AttributeError(f"requests.{name} is not offered to apprise: it reads without a bound")
        return getattr(requests, name)

    def request(self, method: str, url: str, **options: Any) -> requests.Response:
        _last.answer = answer = exchange(method, url, _HTTP_LIMIT_S, **options)
        return answer


def _verb(name: str) -> Any:
    """The bounded ``requests.post`` and the like. ``names``: of its positional arguments after the address."""
    names = ("data", "json") if name == "post" else ("params",) if name == "get" else ("data",)
    return lambda url, *arguments, **options: _HTTP.request(
        name.upper(), url, **dict(zip(names, arguments, strict=False)), **options
    )


class _SMTP(smtplib.SMTP):
    """Connections that read no more of an answer than by HTTP, and end in time."""

    _deadline: Deadline | None = None
    _reader: BoundedReader | None = None

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        opened: socket.socket = super()._get_socket(host, port, timeout)  # type: ignore[misc]
        self._deadline = Deadline(_MAIL_LIMIT_S)
        self._deadline.add(opened)
        return opened

    def getreply(self) -> tuple[int, bytes]:
        if self.file is None and self.sock is not None:
            self._reader = BoundedReader(self.sock)
            self.file = io.BufferedReader(self._reader)
        if self._reader is not None:
            self._reader.begin_answer()
        return super().getreply()

    def close(self) -> None:
        super().close()
        if self._deadline is not None:
            self._deadline.close()


class _SMTPS(_SMTP, smtplib.SMTP_SSL):
    pass


_HTTP = _Requests("requests")
for _name in _VERBS:
    setattr(_HTTP, _name, _verb(_name))
_MAIL = ModuleType("smtplib")
vars(_MAIL).update(vars(smtplib) | {"SMTP": _SMTP, "SMTP_SSL": _SMTPS})


def _replace(module: ModuleType) -> None:
    for name, ours in (("requests", _HTTP), ("smtplib", _MAIL)):
        if isinstance(vars(module).get(name), ModuleType):
            setattr(module, name, ours)


def _homes(target: object) -> Iterator[str]:
    """The modules of the plugin's class and of its base classes, such as ``apprise.plugins.slack``."""
    for kind in type(target).__mro__:
        parts = kind.__module__.split(".")
        if parts[:2] == ["apprise", "plugins"] and parts[2:3] not in ([], ["base"]):
            yield ".".join(parts[:3])
