"""The configuration of a client, and what each SDK reports. Clients of all SDKs behave alike."""

from dataclasses import dataclass

from streaming.core.allocation.averagely import Averagely
from streaming.core.allocation.strategy import Strategy

POLL_ROUTES_MS = 30_000  # ClientConfig.pollNameServerInterval
SPEED = 2_000  # messages a second that a client consumes of one queue while its listener is not slow
AVERAGELY = Averagely()


@dataclass(frozen=True, slots=True)
class Sdk:
    """An SDK. ``language`` (``LanguageCode``) and ``consume_type`` are those of its heartbeats.

    ``answers``: it answers requests for its running info. ``tells_strategy``, ``tells_model`` and ``tells_queues``:
    its running info has ``allocateMessageQueueStrategy``, ``messageModel``, and ``mqTable``.
    """

    language: str = "JAVA"
    consume_type: str = "CONSUME_PASSIVELY"
    answers: bool = True
    tells_strategy: bool = True
    tells_model: bool = True
    tells_queues: bool = True


JAVA = Sdk()
# rocketmq-client-go, pushConsumer.GetConsumerRunningInfo: mqTable, subscriptions, and of the properties only
# PROP_CONSUME_TYPE, PROP_CONSUMEORDERLY and PROP_CONSUMER_START_TIMESTAMP
GO = Sdk("GO", tells_strategy=False, tells_model=False)
MUTE = Sdk("CPP", answers=False)  # it does not support GET_CONSUMER_RUNNING_INFO
# DefaultMQPullConsumerImpl.consumerRunningInfo, and DefaultLitePullConsumerImpl from 4.6.0 to 5.1.0
PULL = Sdk(consume_type="CONSUME_ACTIVELY", tells_queues=False)


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """The configuration of a client. ``topics``: its subscriptions, each with its filter. ``version``: 4 or 5."""

    topics: tuple[tuple[str, str], ...]
    strategy: Strategy = AVERAGELY
    orderly: bool = False
    broadcasting: bool = False
    version: int = 5
    speed: int = SPEED
    sdk: Sdk = JAVA

    @property
    def message_model(self) -> str:
        return "BROADCASTING" if self.broadcasting else "CLUSTERING"

    @property
    def version_ordinal(self) -> int:
        """The version that a broker lists for the connection: the ordinal of ``MQVersion.Version``."""
        if self.sdk.language == "GO":
            return 317  # rocketmq-client-go, internal/remote/codec.go
        return 479 if self.version >= 5 else 407  # V5_3_3, V4_9_7
