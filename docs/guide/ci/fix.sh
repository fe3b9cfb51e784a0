#!/usr/bin/env bash
# Lets a failing test be mended, and says for each way in which a run can end what is to be done next.
set -uo pipefail

caliban --bare --no-save --max-budget-usd 2.00 --max-turns 40 \
    --permission-mode acceptEdits --allow "Bash:pytest *" --sandbox \
    --output-format stream-json \
    -p "Run the tests, and mend what fails." > run.jsonl
code=$?

case $code in
    0) git diff --stat ;;
    75) echo "40 turns were not enough" ;;
    78) echo "nothing was asked: a key or a setting is missing" ;;
    124) echo "the job was cancelled" ;;
    137) echo "2 dollars were not enough" ;;
    *) echo "it ended with $code; the last line of run.jsonl says why" ;;
esac
exit $code
