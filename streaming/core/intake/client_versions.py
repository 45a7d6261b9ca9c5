"""Names of RocketMQ's versions: brokers tell a client's version as a number only.

The number is the ordinal of ``org.apache.rocketmq.common.MQVersion.Version``, which has all versions up to 5.9.9 and
has been the same since 4.3.0 at the latest. Clients set it in each request (``RemotingCommand.setVersion``) and brokers
keep it (``ClientChannelInfo.version``). Clients that are not Java's set a number too, of the version of RocketMQ whose
requests they speak: Go's always 317, V4_5_2 (``internal/remote/codec.go``).
"""

from collections.abc import Iterator


def _names() -> Iterator[str]:
    """In the enum's order. Each version follows its snapshot; 3.0.0 has stages, and some of the first are missing."""
    yield from ("V3_0_0_SNAPSHOT", "V3_0_0_ALPHA1", *(f"V3_0_0_BETA{number}" for number in range(1, 6)))
    yield from (name for number in range(6, 10) for name in _with_snapshot(f"V3_0_0_BETA{number}"))
    yield "V3_0_0_FINAL"
    yield from (name for patch in range(1, 16) for name in _with_snapshot(f"V3_0_{patch}"))
    for major in range(3, 6):
        for minor in range(1 if major == 3 else 0, 10):
            first_patch = 1 if major == 3 and minor > 2 else 0
            for patch in range(first_patch, 10):
                yield from _with_snapshot(f"V{major}_{minor}_{patch}")
    yield "HIGHER_VERSION"


def _with_snapshot(name: str) -> tuple[str, str]:
    return f"{name}_SNAPSHOT", name


NAMES = tuple(_names())


def named(version: str | None) -> str | None:
    """A version as RocketMQ names it, ``V5_3_3``; what is no number is one already.

    Beyond the last it is HIGHER_VERSION (``MQVersion.getVersionDesc``).
    """
    if version is None or not (version.isascii() and version.isdigit()):
        return version
    return NAMES[min(int(version[:9]), len(NAMES) - 1)]
