"""A group as text: lines and tables on a terminal, and the code that ``inspect`` and ``explain`` share."""
