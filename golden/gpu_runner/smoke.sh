#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# smoke.sh [--fast]   on a GPU machine: builds turnstile-gpu, runs gemm_bf16_hopper on a few shapes and compares with numpy in
# double precision; then times 8192 x 8192 x 8192 (not with --fast). Needs python3 with numpy. Ends with PASS or FAIL, code 0 or 1.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
runner=$("$here/build.sh" "$work/bin")
"$runner" --info
python3 "$here/smoke.py" "$runner" "$here/../../kernels/gemm_bf16_hopper/gemm_bf16_hopper.ptx" "$work" "$@"
