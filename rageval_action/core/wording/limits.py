"""How long a text may be on GitHub: limits of whoever writes one and of whoever sends it."""

SENT_COMMENT_BYTES = 65_000
"""Most bytes of a comment or of a check run's summary as it is sent: GitHub refuses more than 65,535 characters."""

COMMENT_BYTES = SENT_COMMENT_BYTES - 5_000
"""Most bytes of these that a report fills: the sender adds a marker and links."""

SENT_SUMMARY_BYTES = 1024 * 1024
"""Most bytes of a step's summaries: above this the runner drops them whole, and the step still passes."""

SUMMARY_BYTES = 1_040_000
"""Most bytes of these that a report fills."""

TITLE_CHARACTERS = 255
"""Most characters of the title of a check run or of a remark."""
