"""The demo on one machine: recordings and a simulated fleet, played live through a real Kafka and the whole job."""

from pathlib import Path

RECORDINGS = Path(__file__).parent / "recordings"
