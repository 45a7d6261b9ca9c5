"""Objects of Java that Python no longer uses, so that Java can free them."""

import gc

SEARCH_EVERY_S = 60.0


class JavaObjects:
    """Frees them by a full search for Python's garbage, as often as ``SEARCH_EVERY_S``.

    A ``JavaObject`` of py4j and its methods (``JavaMember``) refer to each other, so only such a search frees it. By
    itself Python makes a full one once a quarter of all objects are new, which is a matter of hours. Until then Java
    keeps all that the object leads to: one batch in some 25, with its plan and the files of its shuffle.
    """

    def __init__(self, now_s: float) -> None:
        self._searched_s = now_s

    def free(self, now_s: float) -> None:
        """Search if it is time for it, by a clock that is never set. It takes 35 ms, in which no Python runs."""
        if now_s - self._searched_s >= SEARCH_EVERY_S:
            self._searched_s = now_s
            gc.collect()
