"""The base of sinks that post JSON, one POST, and the error for its failure."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import requests
from urllib3.exceptions import MaxRetryError, NameResolutionError, NewConnectionError

from streaming.errors import DeliveryError
from streaming.sinks.bounded_http import exchange
from streaming.sinks.sink import Sink

_JSON = {"Content-Type": "application/json"}
_PASSING = frozenset({408, 425, 429})


@dataclass(repr=False)
class HttpSink(Sink):
    """A sink that posts JSON to an address. ``secret``: in the way of its kind; empty: none."""

    name: str
    url: str
    secret: str
    timeout_s: float


def post(url: str, body: bytes, headers: Mapping[str, str], timeout_s: float, *, answers_json: bool = False) -> str:
    """POST JSON and return the answer. Raises DeliveryError unless it is 2xx and comes within ``timeout_s`` seconds.

    Only the status counts: an answer whose body breaks off is still an answer. ``answers_json``: a 2xx whose body is
    text that is not JSON comes from another server, such as a proxy that asks for a login. The returned answer and the
    error quote the whole answer with any secret in it: ``MaskedSink`` masks and cuts it.
    """
    host = urlsplit(url).hostname
    began = time.monotonic()
    try:
        response = exchange("POST", url, timeout_s, data=body, headers={**_JSON, **headers}, timeout=timeout_s)
    except requests.RequestException as error:
        if time.monotonic() - began >= timeout_s:
            raise DeliveryError(f"{host} did not answer in time", is_temporary=True, may_have_arrived=True) from None
        raise _unanswered(f"{host}", error) from None
    text = response.content.decode("utf-8", "replace")
    if not is_success(response):
        raise refusal(f"{host}", response.status_code, response.headers, " ".join(text.split()))
    if answers_json and not _may_be_json(text):
        raise DeliveryError(f"{host} answered {response.status_code} with something else than JSON", is_temporary=True)
    return " ".join([f"{host} answered {response.status_code}", *text.split()])


def is_success(response: requests.Response) -> bool:
    """Whether the status is 2xx. A redirect is no success, because it is not followed."""
    return 200 <= response.status_code < 300


def _may_be_json(text: str) -> bool:
    """Whether the body may be JSON, by its beginning. A body that is empty or could not be read may be."""
    return not text.strip() or text.lstrip()[0] in "{["


def refusal(host: str, status: int, headers: Mapping[str, str], text: str = "") -> DeliveryError:
    """The error for an answer that is not 2xx. 429 and 5xx are temporary; ``Retry-After`` says for how long."""
    message = f"{host} answered {status}" + (f": {text}" if text else "")
    is_temporary = status in _PASSING or status >= 500
    retry_after_s = _seconds(headers.get("Retry-After", "")) if is_temporary else None
    return DeliveryError(
        message, is_temporary=is_temporary, may_have_arrived=status >= 500, retry_after_s=retry_after_s
    )


def _unanswered(host: str, error: requests.RequestException) -> DeliveryError:
    if isinstance(error, requests.exceptions.InvalidURL | requests.exceptions.InvalidSchema):
        return DeliveryError(f"{host}: no address that can be posted to", is_temporary=False)
    if isinstance(error, requests.ConnectTimeout):
        return DeliveryError(f"{host} cannot be reached: no connection in time", is_temporary=True)
    if isinstance(error, requests.exceptions.SSLError):
        return DeliveryError(f"{host}: TLS failed: is its certificate valid and trusted here?", is_temporary=True)
    if isinstance(error, requests.Timeout):
        return DeliveryError(f"{host} did not answer in time", is_temporary=True, may_have_arrived=True)
    reason = error.args[0].reason if error.args and isinstance(error.args[0], MaxRetryError) else None
    if isinstance(reason, NewConnectionError | NameResolutionError):
        return DeliveryError(f"{host} cannot be reached", is_temporary=True)
    return DeliveryError(f"{host} broke the connection off", is_temporary=True, may_have_arrived=True)


def _seconds(text: str) -> float | None:
    """The seconds of a ``Retry-After``, which is a number or a date; None if it is neither."""
    if text.isdecimal():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return None
