"""A list from packed state: an item is unpacked when it is first used, and stays packed until then.

A round of a group at rest is about a few of its clients and queues. To unpack all of them, to free them, and to pack
them again as they were took half of the time of such a round (docs/performance.md).
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import Raw

T = TypeVar("T")
_split = msgspec.msgpack.Decoder(list[Raw]).decode
_item_at, _put_at = list.__getitem__, list.__setitem__


class ItemFormat(NamedTuple):
    """``unpack`` unpacks one item; ``unpack_keys`` unpacks of all items of a list only what identifies them."""

    unpack: Callable[[Raw], Any]
    unpack_keys: Callable[[Raw], list[Any]]


class PackedList(list[T]):
    """In place of an item that has not been used it holds ``msgspec.Raw``, which msgspec packs as it is.

    Reading by index unpacks one item. Every other method unpacks all of them first.
    """

    __slots__ = ("_form", "packed")
    packed: Raw | None  # the whole list, until an item is unpacked

    def __init__(self, packed: Raw, form: ItemFormat) -> None:
        items: Any = _split(packed)
        super().__init__(items)
        self.packed, self._form = packed, form

    def __getitem__(self, place: Any) -> Any:
        item: Any = _item_at(self, place)
        if type(item) is Raw:
            self.packed, item = None, self._form.unpack(item)
            _put_at(self, place, item)
        return list(self)[place] if isinstance(place, slice) else item

    def unpack_all(self) -> None:
        self.packed = None
        for place in range(len(self)):
            self[place]


def keys_of(items: Sequence[T]) -> Sequence[Any]:
    """What identifies the items, in their order: objects with these fields, or the items themselves."""
    if isinstance(items, PackedList) and items.packed is not None:
        return items._form.unpack_keys(items.packed)
    return items


def _unpacking_first(method: Callable[..., Any]) -> Callable[..., Any]:
    def call(items: PackedList[Any], *arguments: Any, **options: Any) -> Any:
        items.unpack_all()
        return method(items, *arguments, **options)

    return call


_ALLOWED_WHILE_PACKED = {"__class_getitem__", "__getattribute__", "__init__", "__len__", "__new__"}
for _name, _method in vars(list).items():
    if callable(_method) and _name not in _ALLOWED_WHILE_PACKED and _name not in vars(PackedList):
        setattr(PackedList, _name, _unpacking_first(_method))
