"""The nouns: types, snapshot, record, corpus hashes, ranking order."""
