"""A sink that masks secrets: its own in answers and errors, and all secrets in its pages."""

import logging
import traceback
from collections.abc import Iterable

import msgspec

from streaming.errors import DeliveryError
from streaming.notices.notice import Notice, Text
from streaming.secret_mask import SecretMask, masked
from streaming.sinks.sink import Message, Sink

log = logging.getLogger(__name__)

LONGEST_ANSWER = 400


class MaskedSink(Sink):
    """The mask around a sink. ``secrets``: the sink's, with each part of its address, which answers may repeat."""

    def __init__(self, sink: Sink, secrets: Iterable[str]) -> None:
        self.name, self.resend_ms, self.most_bytes = sink.name, sink.resend_ms, sink.most_bytes
        self._sink = sink
        self._mask = SecretMask(secrets)

    def send(self, message: Message) -> str:
        """Send one message. Raises only DeliveryError. Neither the answer nor the error contains a secret."""
        try:
            return self._shown(self._sink.send(_masked(message)) or "")
        except DeliveryError as error:
            error.args = (self._shown(str(error)),)
            raise error.with_traceback(None) from None
        except Exception as error:  # of a library that does not know our errors
            log.error("sink %s failed with an unexpected error:\n%s", self.name, self._hidden(traceback.format_exc()))
            said = self._shown(f"{type(error).__name__}: {error}")
        raise DeliveryError(said, is_temporary=True, may_have_arrived=True)

    def _shown(self, text: str) -> str:
        """The text, first masked, then cut: half a secret cannot be recognised."""
        text = self._hidden(text)
        return text if len(text) <= LONGEST_ANSWER else f"{text[:LONGEST_ANSWER]}..."

    def _hidden(self, text: str) -> str:
        return masked(self._mask.masked(text))


def _masked(message: Message) -> Message:
    """The page with secrets masked: an error in its text may quote one."""
    text = Text(*map(masked, message.text))
    told = msgspec.json.encode(message.notice).decode()
    shown = masked(told)
    notice = message.notice if shown == told else msgspec.json.decode(shown, type=Notice)
    return message._replace(notice=notice, text=text, link=message.link and masked(message.link))
