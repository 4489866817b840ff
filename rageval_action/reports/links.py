"""Addresses that a report links to."""

from __future__ import annotations

from urllib.parse import quote

from msgspec import Struct

from rageval_action.core.wording import escape

LONGEST = 600
"""A longer address is left out: a path comes from a pull request, and a row must stay small."""


class Links(Struct, frozen=True, kw_only=True):
    """Where things can be seen; empty strings make plain text instead of links.

    Attributes:
        server_url, repository: of the code host.
        sha: commit whose golden set the queries link to.
        report_url: page that holds what a comment leaves out (the run, its summary, its artifact).
        report_name: what that page is called.
    """

    server_url: str = ""
    repository: str = ""
    sha: str = ""
    report_url: str = ""
    report_name: str = "the full report"

    def line(self, path: str, line: int) -> str:
        """Address of a line of the golden set; empty when there is none."""
        if not line:
            return ""
        url = escape.blob_url(self.server_url, self.repository, self.sha, path, line)
        return url if len(url) <= LONGEST else ""

    def commit(self, sha: str) -> str:
        """Address of a commit; empty outside a repository or for anything that is not a commit."""
        plain = len(sha) in (40, 64) and all(char in "0123456789abcdef" for char in sha)
        if not (self.server_url and self.repository and plain):
            return ""
        return f"{self.server_url.rstrip('/')}/{quote(self.repository, safe='/')}/commit/{sha}"
