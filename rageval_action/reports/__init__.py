"""What a person sees: one view, rendered to several surfaces.

May import: `core`, `errors`, `config`. Rounding happens in `view` and what it calls; a surface (comment and summary,
check run, terminal, HTML report) only lays the view out.
"""
