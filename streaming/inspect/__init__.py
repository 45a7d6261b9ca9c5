"""``evenkeel inspect``: some rounds of the collector, evaluated by the core, then text on the terminal or JSON.

Everything but ``inspection``, ``request_policy`` and ``screen`` is pure.
"""
