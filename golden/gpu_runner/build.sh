#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build.sh [OUTDIR]   builds OUTDIR/turnstile-gpu (default: build-gpu at the root of the repository).
# Needs a C++20 compiler and the CUDA toolkit's cuda.h; no GPU, no driver, nothing else of ours. CXX and CUDA_HOME are honoured.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
out=${1:-$root/build-gpu}
cxx=${CXX:-c++}
include=
for home in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /opt/cuda /usr; do
  if [[ -n $home && -f $home/include/cuda.h ]]; then
    include=$home/include
    break
  fi
done
if [[ -z $include ]]; then
  echo "build.sh: no cuda.h found (set CUDA_HOME to the CUDA toolkit)" >&2
  exit 2
fi
mkdir -p "$out"
"$cxx" -std=c++20 -O2 -ffp-contract=off -Wall -Wextra -I"$root" -isystem "$include" \
  "$root"/golden/gpu_runner/{main,read_plan,driver,run_plan}.cc "$root/model/launch/generate.cc" -ldl -pthread -o "$out/turnstile-gpu.partial"
mv "$out/turnstile-gpu.partial" "$out/turnstile-gpu"
echo "$out/turnstile-gpu"
