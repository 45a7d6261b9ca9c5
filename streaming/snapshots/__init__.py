"""A group as people see it: lines and tables of text on a terminal, and what ``inspect`` and ``explain`` share."""
