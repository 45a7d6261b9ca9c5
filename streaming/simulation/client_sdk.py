"""What clients of different SDKs tell of themselves: what they do is the same."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sdk:
    """``language`` is that of its heartbeats (``LanguageCode``), ``consume_type`` likewise.

    ``answers``: it answers for its running info at all. ``tells_strategy``, ``tells_model`` and ``tells_queues``: its
    running info has ``allocateMessageQueueStrategy``, ``messageModel``, and ``mqTable``.
    """

    language: str = "JAVA"
    consume_type: str = "CONSUME_PASSIVELY"
    answers: bool = True
    tells_strategy: bool = True
    tells_model: bool = True
    tells_queues: bool = True


JAVA = Sdk()
# rocketmq-client-go, pushConsumer.GetConsumerRunningInfo: mqTable and subscriptions, of the properties only
# PROP_CONSUME_TYPE, PROP_CONSUMEORDERLY and PROP_CONSUMER_START_TIMESTAMP
GO = Sdk("GO", tells_strategy=False, tells_model=False)
MUTE = Sdk("CPP", answers=False)  # it does not know GET_CONSUMER_RUNNING_INFO
# DefaultMQPullConsumerImpl.consumerRunningInfo, and DefaultLitePullConsumerImpl from 4.6.0 to 5.1.0
PULL = Sdk(consume_type="CONSUME_ACTIVELY", tells_queues=False)
