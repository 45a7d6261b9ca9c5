"""Whether a broker's word about a group's members can be believed."""

from msgspec.structs import replace

from streaming.collector.translation.answers import (
    CONSUMER_NOT_ONLINE,
    SUCCESS,
    SYSTEM_ERROR,
    ConnectionsAnswer,
    ConsumerListAnswer,
)


def confirmed(answer: ConsumerListAnswer, connections: ConnectionsAnswer) -> ConsumerListAnswer:
    """A list's code 1 says that there is no such group, but also that a request was refused, for whatever reason.

    Only the code that connections give tells the two apart. What is not confirmed is no answer.
    """
    if answer.code != SYSTEM_ERROR or connections.code == CONSUMER_NOT_ONLINE:
        return answer
    told = "members" if connections.code == SUCCESS else connections.failure
    return replace(answer, code=None, ids=None, error=f"code 1, which connections do not confirm: {told}")
