"""Fetch the jars of both lines of RocketMQ now: no test's time limit has room for it."""

import sys

from streaming.errors import AwayError, SetupError
from tests.real.jars import NEWEST, OLD_LINE, rocketmq_jars

try:
    for version in (NEWEST, OLD_LINE):
        rocketmq_jars(version)
except (AwayError, SetupError) as error:
    sys.exit(str(error))
