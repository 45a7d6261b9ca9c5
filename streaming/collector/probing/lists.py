"""What can be believed of a broker's word about a group's members."""

from msgspec.structs import replace

from streaming.collector.wire.answers import (
    CONSUME_MSG_TIMEOUT,
    CONSUMER_NOT_ONLINE,
    SUCCESS,
    SYSTEM_ERROR,
    ConnectionsAnswer,
    ConsumerListAnswer,
    RunningInfoAnswer,
)


def confirmed(answer: ConsumerListAnswer, connections: ConnectionsAnswer) -> ConsumerListAnswer:
    """A list's code 1 says that there is no such group, but also that a request was refused, for any reason.

    Only the code that connections give tells the two apart. What is not confirmed is no answer.
    """
    if answer.code != SYSTEM_ERROR or connections.code == CONSUMER_NOT_ONLINE:
        return answer
    result = "members" if connections.code == SUCCESS else connections.failure
    return replace(answer, code=None, ids=None, error=f"code 1, which connections do not confirm: {result}")


def is_about_client(answer: RunningInfoAnswer) -> bool:
    """Whether it says something of the client: what it owns, that it is not there, or that it does not answer.

    All other codes are the broker's own: that it refuses, or does not know the request.
    """
    return answer.code in (SUCCESS, SYSTEM_ERROR, CONSUME_MSG_TIMEOUT)
