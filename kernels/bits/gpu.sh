#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# gpu.sh TURNSTILE OUTDIR   on a machine with a Hopper GPU: every case of every launch file here on the GPU (three runs) and in the simulator,
# compared bit for bit; the records go to OUTDIR/records.tgz, the table to OUTDIR/crossval.txt. LIMIT_S (400): no launch file is begun after that.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
turnstile=$1 out=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
runner=$("$root/golden/gpu_runner/build.sh" "$work/bin") || exit 2
export TURNSTILE_GPU_RUNNER=$runner
for file in "$here"/*.toml "$root"/kernels/gemm_bf16_hopper/gemm.toml; do
  if ((SECONDS > ${LIMIT_S:-400})); then
    echo "not begun: $file" | tee -a "$out/crossval.txt"
    continue
  fi
  name=$(basename "$file" .toml)
  if [[ $name == gemm ]]; then
    "$turnstile" golden crossval "$file" >>"$out/crossval.txt" 2>&1
  else
    "$turnstile" golden record "$file" --records "$work/records" --update >"$work/record.txt" 2>&1 || cat "$work/record.txt" >>"$out/crossval.txt"
    "$turnstile" golden crossval "$file" --records "$work/records" >>"$out/crossval.txt" 2>&1
  fi
  echo "$name: code $? after $SECONDS s" | tee -a "$out/crossval.txt"
done
tar czf "$out/records.tgz" -C "$work" records
