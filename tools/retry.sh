#!/usr/bin/env bash
# Run a command up to three times: what it downloads may fail once.
for attempt in 1 2 3; do
  "$@" && exit 0
  echo "attempt $attempt failed: $*" >&2
  sleep $((attempt * 5))
done
exit 1
