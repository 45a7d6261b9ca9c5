"""What every sink is: it accepts one message, or raises why not."""

from typing import NamedTuple, Protocol

from streaming.notices import Notice, Text


class Message(NamedTuple):
    """``link``: a page to look at, if one is configured; ``now``: epoch ms."""

    notice: Notice
    text: Text
    link: str | None
    now: int

    @property
    def words(self) -> str:
        """Title and body in one."""
        return "\n".join(filter(None, self.text))


class Sink(Protocol):
    """``resend_ms``: how often firing alerts must be sent again; None: not at all.

    ``most_bytes``: how much text it takes at once, title and body in UTF-8, None if any page fits.
    """

    name: str
    resend_ms: int | None = None
    most_bytes: int | None = None

    def send(self, message: Message) -> str | None:
        """Returns the answer once the sink has accepted it. Raises DeliveryError. One message at a time."""
