"""Measures what evenkeel costs; ``docs/performance.md`` explains the figures. Run by ``python -m bench``."""
