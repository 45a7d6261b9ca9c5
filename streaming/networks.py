"""Networks of the configuration, and which addresses are in them."""

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network


def networks(written: Iterable[str]) -> tuple[Network, ...]:
    """The networks of these texts, each an address or a network. Raises ValueError."""
    return tuple(ip_network(one, strict=False) for one in written)


def is_in(address: str, allowed: Sequence[Network]) -> bool:
    """Whether the address is in one of the networks; False for a text that is no address."""
    found = parsed(address)
    return found is not None and any(found in network for network in allowed)


def parsed(address: str) -> IPv4Address | IPv6Address | None:
    """The address; None for another text. A socket for IPv4 and IPv6 writes IPv4 addresses as IPv6: they are IPv4
    here.
    """
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found
