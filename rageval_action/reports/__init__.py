"""What a person sees: one view, rendered to several surfaces. Sentences come from `core.judging.sentences`."""
