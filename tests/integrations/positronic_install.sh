#!/usr/bin/env bash
# Install one Positronic of each generation that reads our folders into .peers/positronic_generations: the packages alone,
# each in a folder of its own, over one environment with the few libraries that reading and writing datasets needs.
# The whole of 0.4.1 takes 2.4 GB; this takes a fifth.
set -euo pipefail
cd "$(dirname "$0")/../.."

home=.peers/positronic_generations
python=$home/bin/python
libraries=(av boto3 coloredlogs numpy pos3==0.4.0 positronic-eval-vocabulary==0.6.0 pyarrow pyyaml tqdm)

[ -x "$python" ] || python3 -m venv "$home"
if ! cmp --quiet <(printf '%s\n' "${libraries[@]}") "$home/libraries.txt"; then
  "$python" -m pip install --quiet --disable-pip-version-check "${libraries[@]}"
  printf '%s\n' "${libraries[@]}" > "$home/libraries.txt"
fi
for version in 0.1.0 0.2.1 0.4.1; do
  [ -d "$home/$version" ] && continue
  unpacked=$home/$version.part
  rm -rf "$unpacked"
  "$python" -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --target "$unpacked" "positronic==$version"
  rm -rf "$unpacked"/positronic/{assets,vendors,tests,simulator}
  mv "$unpacked" "$home/$version"
done
