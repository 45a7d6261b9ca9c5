"""The errors that evenkeel raises on purpose.

    MonitorError
      ConfigError              the configuration is refused: every fault at once
      StateVersionError        stored state was written by another version
      CheckpointError          the checkpoint and the tables or the configuration do not belong together
      AwayError                Kafka or a storage does not answer: the same may succeed later
      InUseError               another process has what this one needs for itself
      SourceError              an input file or topic cannot be read as what it should be
      SetupError               something the machine should have is missing
      PublishError             an event did not get to Kafka or into a file
      CollectorError           RocketMQ cannot be asked, or its answer cannot be read
      OutputError              what was asked for cannot be written
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
    """Kafka or a storage does not answer. The same may succeed later."""


class InUseError(MonitorError):
    """Another process has what this one needs for itself."""


class SourceError(MonitorError):
    """An input cannot be read as what it should be."""


class SetupError(MonitorError):
    """Something the machine should have is missing."""


class PublishError(MonitorError):
    """An event could not be handed over."""


class CollectorError(MonitorError):
    """RocketMQ cannot be asked, or its answer cannot be read."""


class OutputError(MonitorError):
    """What was asked for cannot be written: to standard output, or into the file that was named."""


class DeliveryError(MonitorError):
    """A sink did not take a page.

    ``is_passing``: another try may succeed; ``after_s``: not before so many seconds. ``may_be_taken``: nobody knows
    whether the sink took it, since it was silent or the connection broke after the page was sent.
    """

    def __init__(
        self, message: str, *, is_passing: bool, may_be_taken: bool = False, after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.is_passing = is_passing
        self.may_be_taken = may_be_taken
        self.after_s = after_s
