#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Meta's TLX kernels through capture and check (./run tlx): makes the environment once, captures once, judges what is not judged yet, plants faults, makes the page.
# Options go to `suite.py check`: ./run tlx --timeout 20 --jobs 1. WORK (default build/tlx) holds everything; nothing of it belongs into the repository.
# About 6 GB, most of it torch; TURNSTILE_TLX_VENV names an environment that is there already (fbtriton 3.7.4, torch, pytest, numpy, torchao).
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=${WORK:-$root/build/tlx}
turnstile=${TURNSTILE:-$root/build/turnstile}
venv=${TURNSTILE_TLX_VENV:-$work/venv}
python=$venv/bin/python

has_everything() { "$python" -c 'import triton, torch, pytest, numpy, torchao, sys; sys.exit(triton.__version__ != "3.7.4+fb")' >/dev/null 2>&1; }

# torch brings triton, which installs the same module as fbtriton: it has to go before fbtriton comes.
make_environment() {
  echo "run: making $venv (fbtriton 3.7.4, torch; about 6 GB)"
  rm -rf "$venv"
  mkdir -p "$work"
  python3 -m venv "$venv"
  local pip=("$python" -m pip --quiet --disable-pip-version-check)
  "${pip[@]}" install torch==2.15.0 pytest numpy
  "${pip[@]}" uninstall --yes triton
  "${pip[@]}" install --no-deps --force-reinstall fbtriton==3.7.4 torchao
}

if [[ -n ${TURNSTILE_TLX_VENV:-} ]]; then
  has_everything || {
    echo "run: TURNSTILE_TLX_VENV=$venv has not fbtriton 3.7.4 with torch, pytest, numpy and torchao" >&2
    exit 2
  }
elif [[ ! -f $venv/ready ]]; then
  make_environment
  touch "$venv/ready"
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
