"""Golden sets: reading, checking, generating, reviewing.

May import: `core`, `errors`, `config`. To extend: a reader (`interface.Reader`) in its own file and one line
in `formats.FORMATS`.
"""
