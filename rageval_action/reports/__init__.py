"""What a person sees: one view, rendered to several surfaces.

May import: `core`, `errors`, `config`. Rounding happens in `view` and nowhere else. To extend: one line in `SURFACES`.
"""
