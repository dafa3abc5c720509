#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Meta's TLX kernels through capture and check (./run tlx): makes the environment once, captures once, judges what is not judged yet, plants faults, makes the page.
# WORK (default build/tlx) holds everything; nothing of it belongs into the repository. About 6 GB, most of it torch.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=${WORK:-$root/build/tlx}
turnstile=${TURNSTILE:-$root/build/turnstile}
python=$work/venv/bin/python

# torch brings triton, which installs the same module as fbtriton: it has to go before fbtriton comes.
if [[ ! -f $work/venv/ready ]]; then
  echo "run: making $work/venv (fbtriton 3.7.4, torch; about 6 GB)"
  rm -rf "$work/venv"
  mkdir -p "$work"
  python3 -m venv "$work/venv"
  "$python" -m pip install --quiet --disable-pip-version-check --no-cache-dir torch==2.15.0 pytest numpy
  "$python" -m pip uninstall --quiet --yes triton
  "$python" -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps --force-reinstall fbtriton==3.7.4 torchao
  touch "$work/venv/ready"
fi

suite() { python3 "$root/tests/tlx/suite.py" "$@" --work "$work"; }
mutants() { python3 "$root/tests/tlx/mutants.py" "$@" --work "$work" --turnstile "$turnstile"; }
suite capture --python "$python"
suite check --turnstile "$turnstile" "$@"
code=0
mutants check || code=$?
{ suite table --doc && echo && mutants table --doc; } >"$work/table.md"
grep -E '^[0-9]+ (launches|mutants)' "$work/table.md"
echo "run: the page is $work/table.md (docs/tlx-suite.md)"
exit "$code"
