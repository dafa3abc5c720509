#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh OUTDIR [PROBE...]   on a machine with a Hopper GPU: builds the probes, runs every variant (or those of the named
# probes) in its own process and writes OUTDIR/probes.json. A variant that faults or hangs is an observation; after it a
# trivial kernel shows whether the GPU is still usable. `run.sh --build OUTDIR` only builds.
# LIMIT_S (400): no variant is started later than that many seconds after the first; the file then says which are missing.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
only_build=
if [[ ${1:-} == --build ]]; then
  only_build=1
  shift
fi
out=${1:?usage: run.sh [--build] OUTDIR [PROBE...]}
shift
mkdir -p "$out"
out=$(cd "$out" && pwd)

nvcc=$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
flags=(-std=c++20 -O2 -gencode=arch=compute_90a,code=sm_90a -Werror all-warnings -Xcompiler -Wall,-Wextra)
work=$(mktemp -d)
holder=
finish() {
  [[ -n $holder ]] && kill "$holder" 2>/dev/null
  rm -rf "$work"
}
trap finish EXIT

compile() { "$nvcc" "${flags[@]}" -c "$1" -o "$work/$(basename "$1" .cu).o"; }
started=$SECONDS
if [[ ${PARALLEL:-$(nproc)} -gt 2 ]]; then
  pids=()
  for source in "$here"/*.cu; do
    compile "$source" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || exit 2; done
else
  for source in "$here"/*.cu; do compile "$source" || exit 2; done
fi
"$nvcc" "${flags[@]}" "$work"/*.o -o "$work/run_probes" || exit 2
echo "built in $((SECONDS - started)) s"
runner=$work/run_probes
if [[ -n $only_build ]]; then
  cp "$runner" "$out/run_probes"
  exit 0
fi

usable() { [[ $(timeout -k 1 "$1" "$runner" --sanity 2>/dev/null) == usable ]]; }
if ! usable 60; then
  echo "run.sh: no usable GPU" >&2
  timeout -k 1 60 "$runner" --sanity
  exit 1
fi
# Without an open context the driver sets the GPU up anew for every process.
"$runner" --hold 600 &
holder=$!

info=$(timeout -k 1 20 "$runner" --info)
driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -1)
sources=$(cd "$here" && cat -- *.cu *.cuh *.h run.sh | sha256sum | cut -d' ' -f1)
lines=$work/lines
: >"$lines"
gpu_lost= missing=0 hangs=0 errors=0 count=0
first=$SECONDS
while read -r probe variant; do
  if [[ $# -gt 0 && " $* " != *" $probe "* ]]; then continue; fi
  if [[ -n $gpu_lost || $((SECONDS - first)) -gt ${LIMIT_S:-400} ]]; then
    missing=$((missing + 1))
    continue
  fi
  line=$(timeout -k 1 8 "$runner" "$probe" "$variant" 2>"$work/stderr" </dev/null)
  code=$?
  if [[ $line != \{*\} ]]; then
    if [[ $code -eq 124 || $code -eq 137 ]]; then
      status=hang error="the process was killed after 8 s"
    else
      status=error error="the process ended with code $code"
    fi
    line="{\"probe\":\"$probe\",\"variant\":\"$variant\",\"control\":false,\"what\":\"\",\"status\":\"$status\",\"error\":\"$error\"}"
  fi
  if [[ $line != *'"status":"ended"'* ]]; then
    good=false
    if usable 20; then
      good=true
    else
      sleep 5
      if usable 30; then good=true; else gpu_lost=1; fi
    fi
    line="${line%\}},\"gpu_usable_after\":$good}"
  fi
  case $line in
    *'"status":"hang"'*) hangs=$((hangs + 1)) ;;
    *'"status":"error"'*) errors=$((errors + 1)) ;;
  esac
  count=$((count + 1))
  echo "$line" >>"$lines"
  echo "$line"
done < <("$runner" --list)

usable_at_end=false
if usable 30; then usable_at_end=true; fi
{
  echo "{\"format\":1,"
  echo "\"gpu\":$info,"
  echo "\"driver\":\"$driver\","
  echo "\"date\":\"$(date -u +%Y-%m-%dT%H:%M:%SZ)\","
  echo "\"source_sha256\":\"$sources\","
  echo "\"gpu_usable_at_end\":$usable_at_end,"
  echo "\"variants_missing\":$missing,"
  echo "\"lines\":["
  sed '$!s/$/,/' "$lines"
  echo "]}"
} >"$out/probes.json"
if command -v cuobjdump >/dev/null; then
  cuobjdump --dump-sass "$runner" 2>/dev/null | sed 's#/\* 0x[0-9a-f]* \*/##' | gzip >"$out/probes.sass.gz"
fi
echo "$count variants in $((SECONDS - first)) s: $hangs hung, $errors faulted, $missing not run; GPU usable at the end: $usable_at_end"
