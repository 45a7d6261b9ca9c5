"""An HTTP application whose texts have no secret in them."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streaming.secret_mask import masked

_TEXTS = ("text/html", "text/plain", "text/event-stream", "application/json")


def masked_app(app: ASGIApp) -> ASGIApp:
    """The application, with secrets masked in its answers. Each piece of a stream is masked by itself."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        begun: Message = {}

        async def masking(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = message
                return
            if message["type"] == "http.response.body":
                message = _masked_body(begun, message)
            if begun:
                await send(begun)
                begun = {}
            await send(message)

        await app(scope, receive, masking)

    return answer


def _masked_body(begun: Message, message: Message) -> Message:
    """The masked body. ``begun``: the message before the body, with its length; empty once that was sent."""
    body = bytes(message.get("body", b""))
    if begun and not MutableHeaders(raw=begun["headers"]).get("content-type", "").startswith(_TEXTS):
        return message
    shown = masked(body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    if shown == body:
        return message
    headers = MutableHeaders(raw=begun.get("headers", []))
    if "content-length" in headers:
        headers["content-length"] = str(len(shown))
    return {**message, "body": shown}
