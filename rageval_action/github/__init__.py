"""Everything that speaks to GitHub or its runner.

May import: `core`, `errors`, `config`.
"""
