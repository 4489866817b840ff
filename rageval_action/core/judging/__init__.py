"""Policy, gates, verdict, and the comparison document."""
