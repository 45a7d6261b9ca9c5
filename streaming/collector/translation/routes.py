"""The routes of a cluster's topics, as its name servers last answered them."""

from typing import NamedTuple

from streaming.collector.translation.answers import SUCCESS, TOPIC_NOT_EXIST, RouteAnswer


class KnownRoute(NamedTuple):
    """(broker name, read queues, write queues, perm) of each broker, by name; none of them: no route."""

    queues: tuple[tuple[str, int, int, int], ...]
    order_topic_conf: str | None
    static: bool = False


class Routes:
    """What is known of every topic, and since when it has been known to hold."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[KnownRoute, int]] = {}

    def take(self, answer: RouteAnswer) -> None:
        """A name server that fails to answer leaves nothing to repeat."""
        if answer.code == SUCCESS and answer.body is not None:
            data = answer.body
            queues = sorted(
                (q.broker_name, max(0, q.read_queue_nums), max(0, q.write_queue_nums), max(0, q.perm))
                for q in data.queue_datas or ()
            )
            # MQClientInstance.topicRouteData2TopicSubscribeInfo asks for no more than that the mapping is not empty
            is_static = bool(data.topic_queue_mapping_by_broker)
            route = KnownRoute(tuple(queues), data.order_topic_conf or None, is_static)
            self._known[answer.topic] = (route, answer.end_ts)
        elif answer.code == TOPIC_NOT_EXIST:
            self._known[answer.topic] = (KnownRoute((), None), answer.end_ts)
        else:
            self._known.pop(answer.topic, None)

    def still_stand(self, ts: int) -> None:
        """They were all asked for again up to ``ts`` and had not changed, as between two lines of a recording."""
        self._known = {topic: (route, max(known_ts, ts)) for topic, (route, known_ts) in self._known.items()}

    def get(self, topic: str) -> tuple[KnownRoute | None, int]:
        """A topic's route and when it was last answered."""
        return self._known.get(topic, (None, 0))
