"""The errors that evenkeel raises on purpose. Each message says what, where, and what to do."""


class MonitorError(Exception):
    """Base of every error that evenkeel raises on purpose."""


class ConfigError(MonitorError):
    """The configuration is refused: every fault at once."""


class StateVersionError(MonitorError):
    """Stored state was written by a version that this one cannot read."""


class CheckpointError(MonitorError):
    """A checkpoint and the tables or the configuration beside it do not belong together."""


class AwayError(MonitorError):
    """Kafka, a storage or the network does not answer, or lacks what is needed. The same may succeed later."""

    @classmethod
    def of_topic(cls, topic: str, servers: str) -> "AwayError":
        """Kafka answers, and does not have the topic of the events."""
        return cls(f"there is no topic {topic} at {servers}: create it, or mend source.topic")


class InUseError(MonitorError):
    """Another process uses what this one needs for itself. ``owner``: that process, in words."""

    def __init__(self, message: str, owner: str = "another process") -> None:
        super().__init__(message)
        self.owner = owner


class SourceError(MonitorError):
    """An input file or topic cannot be read as what it should be."""


class SetupError(MonitorError):
    """The machine lacks something that is needed."""


class PublishError(MonitorError):
    """An event did not get to Kafka or into a file."""


class CollectorError(MonitorError):
    """RocketMQ cannot be asked, or its answer cannot be read."""


class OutputError(MonitorError):
    """A result cannot be written to standard output, or into the named file."""


class DeliveryError(MonitorError):
    """A sink did not accept a page.

    ``is_temporary``: another attempt may succeed, but not before ``retry_after_s`` seconds. ``may_have_arrived``: the
    sink was silent, or the connection broke, after the page was sent.
    """

    def __init__(
        self, message: str, *, is_temporary: bool, may_have_arrived: bool = False, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.is_temporary = is_temporary
        self.may_have_arrived = may_have_arrived
        self.retry_after_s = retry_after_s
