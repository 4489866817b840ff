#!/usr/bin/env bash
# Mutation testing with mutmut: which small faults in a module do its tests not see?
# Usage: tools/mutants.sh PYTHON MODULE TESTS   (a file of rageval_action; files or folders of tests, by blanks)
# Everything happens in a copy below .cache; mutants that survive are listed with their change.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(realpath --no-symlinks "$1") module=$2 tests=$3
test -f "$module" || { echo "no such module: $module" >&2; exit 2; }
copy=.cache/mutants
quoted() { printf '"%s", ' "$@"; }

rm -rf "$copy"
mkdir -p "$copy"
git ls-files -z | grep -zv '^tests/fixtures/' | xargs -0 cp --parents --target-directory="$copy"
cd "$copy"
cat >> pyproject.toml <<EOF

[tool.mutmut]
source_paths = ["rageval_action"]
only_mutate = ["$module"]
also_copy = [$(quoted ./*)]
pytest_add_cli_args = ["-p", "no:cacheprovider", "-m", "not slow"]
pytest_add_cli_args_test_selection = [$(quoted $tests)]
EOF
"$python" -m mutmut run
"$python" -m mutmut results | sed 's/^ *//; s/: / /' | while read -r name state; do
  echo "== $state"
  "$python" -m mutmut show "$name" | grep -v '^#'
done
