"""The interface of every sink: it accepts one message, or raises an error."""

from typing import NamedTuple, Protocol

from streaming.notices.notice import Notice, Text


class Message(NamedTuple):
    """One message to send. ``link``: the address of a page about it, if configured; ``now``: epoch ms."""

    notice: Notice
    text: Text
    link: str | None
    now: int


class Sink(Protocol):
    """A destination of pages. ``resend_ms``: how often firing alerts must be sent again; None: never.

    ``most_bytes``: the longest text that it accepts, title and body in UTF-8; None: any page fits.
    """

    name: str
    resend_ms: int | None = None
    most_bytes: int | None = None

    def send(self, message: Message) -> str | None:
        """Send one message and return the sink's answer. Raises DeliveryError. Not for two threads at once."""
