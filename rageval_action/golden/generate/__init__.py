"""Questions made by Claude from a team's own chunks, filtered hard, for people to review.

`run.generate` is the flow; `client` talks to the API, `ledger` remembers every answer that was paid for.
"""
