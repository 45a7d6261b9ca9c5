"""``evenkeel inspect``: a few rounds of the collector, judged by the core, then a table per group on the terminal.

    service ─▶ screen ─▶ page | document ─▶ judging ─▶ watching ─▶ offsets

Everything but ``service`` and ``screen`` is pure: events in, pictures and lines out.
"""
