"""The retries of a notice: how often and at which intervals it is sent until the sink accepts it."""

import logging
from collections.abc import Callable
from threading import Event
from typing import NamedTuple

import tenacity

from streaming.errors import DeliveryError

log = logging.getLogger(__name__)


class RetryPolicy(NamedTuple):
    """A policy of retries, in seconds. ``attempts`` in a row: ``first_s`` apart, then longer, up to ``longest_s``.

    Then the sink is not tried for ``pause_s``, or for the time that it asks for, up to ``longest_asked_s``. A page that
    the sink refuses is sent again after ``refused_s``.
    """

    attempts: int = 5
    first_s: float = 1
    longest_s: float = 30
    pause_s: float = 60
    longest_asked_s: float = 900
    refused_s: float = 300


def send_with_retries(send: Callable[[], object], retry: RetryPolicy, stop: Event) -> None:
    """Send with retries. Raises the last DeliveryError, with ``may_have_arrived`` if any attempt may have arrived."""
    grows = tenacity.wait_exponential(retry.first_s, retry.longest_s) + tenacity.wait_random(0, retry.first_s)
    may_have_arrived = False

    def attempt() -> None:
        nonlocal may_have_arrived
        try:
            send()
        except Exception as error:
            failure = _as_delivery_error(error)
            may_have_arrived = failure.may_have_arrived = may_have_arrived or failure.may_have_arrived
            raise failure from None

    def is_worth_another(error: BaseException) -> bool:
        return isinstance(error, DeliveryError) and error.is_temporary and _asked_s(error) <= retry.longest_s

    def wait_s(state: tenacity.RetryCallState) -> float:
        return max(grows(state), _asked_s(state.outcome.exception() if state.outcome else None))

    tenacity.Retrying(
        retry=tenacity.retry_if_exception(is_worth_another),
        stop=tenacity.stop_after_attempt(retry.attempts) | tenacity.stop_when_event_set(stop),
        wait=wait_s,
        sleep=tenacity.sleep_using_event(stop),
        reraise=True,
    )(attempt)


def _asked_s(error: BaseException | None) -> float:
    return (error.retry_after_s or 0) if isinstance(error, DeliveryError) else 0


def _as_delivery_error(error: Exception) -> DeliveryError:
    if isinstance(error, DeliveryError):
        return error
    log.error("a sink failed with an unexpected error", exc_info=error)
    return DeliveryError(describe(error), is_temporary=True, may_have_arrived=True)


def describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]
