"""rag-eval-action: did retrieval get better or worse in this pull request?"""

__version__ = "0.1.0"
