"""``evenkeel inspect``: some rounds of the collector, evaluated by the core, then text on the terminal or JSON.

All modules except ``inspection`` and ``screen`` are pure.
"""
