"""DingTalk, Feishu, Lark, WeCom, Slack, mail and everything else that apprise reaches, by an apprise address.

apprise returns only success or failure, and takes every 200 for success. But DingTalk, Feishu and WeCom answer 200 with
an error in the body when they refuse a message, also when messages come too fast. So the answer is read here first.
"""

from importlib.util import find_spec
from typing import Any

import requests

from streaming.errors import DeliveryError, SetupError
from streaming.notices.escaping import escape
from streaming.sinks import apprise_transport
from streaming.sinks.http import is_success, refusal
from streaming.sinks.sink import Message, Sink

SCHEMES = {
    "dingtalk": ("dingtalk",),
    "feishu": ("feishu", "lark"),
    "wecom": ("wecombot",),
    "slack": ("slack",),
    "mail": ("mailto", "mailtos"),
    "apprise": (),  # any
}
_ANSWER_CODES = ("dingtalk", "feishu", "wecom")
_CODES = ("errcode", "code", "StatusCode")
_TOO_FAST = frozenset({-1, 9499, 11232, 45009, 130101})  # or too busy: of WeCom, Feishu and DingTalk
_ESCAPED = 0.9  # escaping makes text a little longer


class ChatSink(Sink):
    def __init__(self, name: str, kind: str, address: str) -> None:
        """``address`` contains the token, so it is never shown. Raises SetupError if apprise is missing or refuses the
        address."""
        if find_spec("apprise") is None:
            raise SetupError(f"sink {name}: {kind} needs apprise: pip install apprise")
        import apprise

        self.name = name
        self._kind = kind
        self._apprise = apprise
        scheme = address.split("://")[0]
        allowed = SCHEMES[kind] or (scheme,)
        target = apprise.Apprise.instantiate(address, suppress_exceptions=True) if scheme in allowed else None
        if target is None:
            wanted = " or ".join(f"{one}://..." for one in SCHEMES[kind]) or "one that apprise knows"
            raise SetupError(f"sink {name}: its secret is no apprise address for {kind}: {wanted}")
        self._target: Any = target
        self.most_bytes = int(target.body_maxlen * _ESCAPED)  # characters to apprise, bytes to WeCom and DingTalk
        if not apprise_transport.use_bounds(target):
            raise SetupError(
                f"sink {name}: {kind} cannot be reached by {scheme}://: what its other side answers cannot be bounded; "
                "use a channel that is reached by HTTP or mail"
            )

    def send(self, message: Message) -> str:
        kinds = self._apprise.NotifyType
        apprise_transport.forget_answer()
        is_taken = self._target.notify(
            title=escape(message.text.title),  # apprise escapes too, but a name with @all would notify everybody
            body=escape(message.text.body),
            notify_type=kinds.FAILURE if message.notice.status == "firing" else kinds.SUCCESS,
            body_format=self._apprise.NotifyFormat.TEXT,
        )
        answer = apprise_transport.last_answer()
        if answer is not None and not is_success(answer):
            raise refusal(self._kind, answer.status_code, answer.headers)
        if not is_taken:
            raise DeliveryError(f"{self._kind} cannot be reached", is_temporary=True, may_have_arrived=True)
        if self._kind in _ANSWER_CODES and answer is not None:
            _check_answer(self._kind, answer)
        return f"{self._kind} answered {answer.status_code}" if answer is not None else f"{self._kind} took it"


def _check_answer(kind: str, answer: requests.Response) -> None:
    """Raise DeliveryError if the body is a refusal, or not the chat's: then a proxy may have answered."""
    try:
        said = answer.json()
    except ValueError:
        said = None
    if not isinstance(said, dict):
        raise DeliveryError(f"{kind} answered with something else than JSON", is_temporary=True, may_have_arrived=True)
    codes = [said.get(name) for name in _CODES]
    code = next((code for code in codes if isinstance(code, int) and code), 0)
    if code:
        raise DeliveryError(f"{kind} refused it: code {code}", is_temporary=code in _TOO_FAST)
