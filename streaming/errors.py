"""The errors that evenkeel raises on purpose.

    MonitorError
      ConfigError              the configuration is refused: every fault at once
      StateVersionError        stored state was written by another version
      CheckpointError          the checkpoint and the tables or the configuration do not belong together
      AwayError                Kafka, a storage or the network is not there now: the same may succeed later
      InUseError               another process uses what this one needs for itself
      SourceError              an input file or topic cannot be read as what it should be
      SetupError               the machine lacks something that is needed
      PublishError             an event did not get to Kafka or into a file
      CollectorError           RocketMQ cannot be asked, or its answer cannot be read
      OutputError              a result cannot be written
      DeliveryError            a sink did not take a page, or may not have taken it

Each message says what, where, and what to do.
"""


class MonitorError(Exception):
    """Base of every error that evenkeel raises on purpose."""


class ConfigError(MonitorError):
    """The configuration is refused."""


class StateVersionError(MonitorError):
    """Stored state was written by a version that this one cannot read."""


class CheckpointError(MonitorError):
    """A checkpoint and the tables or the configuration beside it do not belong together."""


class AwayError(MonitorError):
    """Kafka, a storage or the network does not answer, or lacks what is needed. The same may succeed later."""


class InUseError(MonitorError):
    """Another process uses what this one needs for itself."""


class SourceError(MonitorError):
    """An input cannot be read as what it should be."""


class SetupError(MonitorError):
    """The machine lacks something that is needed."""


class PublishError(MonitorError):
    """An event could not be handed over."""


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
