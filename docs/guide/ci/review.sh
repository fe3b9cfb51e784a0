#!/usr/bin/env bash
# Ends with 0 where the review passes, with 1 where it does not, and else with the code of the run.
set -euo pipefail

schema='{
  "type": "object",
  "required": ["passes", "reason"],
  "properties": {"passes": {"type": "boolean"}, "reason": {"type": "string"}}
}'

git diff "${1:-HEAD}" |
    caliban --bare --no-save --max-budget-usd 1.00 --max-turns 20 \
        --allow Read --allow "Grep" --allow "Glob" \
        --json-schema "$schema" \
        -p "Review this change for faults. It passes unless one of them would hurt a user." > review.json

python3 - <<'PY'
import json

review = json.load(open("review.json"))
print(review["reason"])
raise SystemExit(not review["passes"])
PY
