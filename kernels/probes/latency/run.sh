#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh OUTDIR   on a machine with a Hopper GPU and a CUDA toolkit: measures what the latency model of `turnstile simulate --timeline`
# needs and the GEMM over eight shapes, about a minute; writes OUTDIR/latency.json. `run.sh --build FOLDER` only builds, without a GPU.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
only_build=
if [[ ${1:-} == --build ]]; then
  only_build=1
  shift
fi
out=${1:?usage: run.sh [--build] OUTDIR}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cuda=${CUDA_HOME:-/usr/local/cuda}
nvcc=$(command -v nvcc || echo "$cuda/bin/nvcc")
ptxas=$(command -v ptxas || echo "$cuda/bin/ptxas")
flags=(-std=c++20 -O2 -gencode=arch=compute_90a,code=sm_90a -Werror all-warnings -Xcompiler -Wall,-Wextra)
if [[ -n $only_build ]]; then
  work=$out
else
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi

# The GEMM with a clock at both ends: the first thread of each of its three warp groups stores clock64 and globaltimer.
timed_ptx() {
  awk '
    function stamp(offset) {
      print "{ .reg .b32 i, j; .reg .b64 a, t; .reg .pred p;"
      print "mov.u32 i, %tid.x; and.b32 j, i, 127; setp.eq.u32 p, j, 0; shr.u32 i, i, 7;"
      print "mov.u32 j, %ctaid.x; mul.lo.u32 j, j, 12; mad.lo.u32 i, i, 2, j; add.u32 i, i, " offset "; mul.wide.u32 a, i, 8;"
      print "mov.u64 t, probe_clock; add.u64 a, a, t;"
      print "mov.u64 t, %clock64; @p st.global.u64 [a], t; mov.u64 t, %globaltimer; @p st.global.u64 [a+8], t; }"
    }
    /^\.address_size/ { print; print ".visible .global .align 8 .b8 probe_clock[131072];"; next }
    /mov\.b64.*gemm_bf16_hopper_param_0;/ { print; stamp(0); starts++; next }
    /^[ \t]*ret;/ { stamp(6); print; ends++; next }
    { print }
    END { exit !(starts == 1 && ends == 1) }' "$1"
}

started=$SECONDS
gemm=$root/kernels/gemm_bf16_hopper/gemm_bf16_hopper.ptx
timed_ptx "$gemm" >"$work/gemm_timed.ptx" || { echo "run.sh: $gemm has changed its shape" >&2; exit 2; }
tasks=$work/tasks
: >"$tasks"
for source in "$here"/*.cu; do
  echo "$nvcc ${flags[*]} -c $source -o $work/$(basename "$source" .cu).o" >>"$tasks"
done
echo "$ptxas -arch=sm_90a $gemm -o $work/gemm.cubin" >>"$tasks"
echo "$ptxas -arch=sm_90a -v $work/gemm_timed.ptx -o $work/gemm_timed.cubin" >>"$tasks"
xargs -P "$(nproc)" -I{} bash -c {} <"$tasks" || exit 2
"$nvcc" "${flags[@]}" "$work"/*.o -o "$work/latency" || exit 2
echo "built in $((SECONDS - started)) s"
[[ -n $only_build ]] && exit 0

lines=$work/lines
: >"$lines"
failed=
# The first process sets the GPU up; the GEMM comes last, when the clock has risen.
for family in clocks instructions memory barriers copies tensor launches load gemm; do
  begin=$SECONDS
  timeout -k 2 40 "$work/latency" "$family" "$work" >>"$lines" 2>>"$out/errors.txt"
  code=$?
  echo "$family: code $code, $((SECONDS - begin)) s"
  if [[ $code -ne 0 ]]; then failed="$failed $family"; fi
done
{
  echo "{\"format\":1,"
  echo "\"gpu\":$(timeout -k 2 20 "$work/latency" --info),"
  echo "\"driver\":\"$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -1)\","
  echo "\"date\":\"$(date -u +%Y-%m-%dT%H:%M:%SZ)\","
  echo "\"source_sha256\":\"$(cd "$here" && cat -- *.cu *.cuh *.h run.sh "$gemm" | sha256sum | cut -d' ' -f1)\","
  echo "\"failed\":\"${failed# }\","
  echo "\"lines\":["
  sed '$!s/$/,/' "$lines"
  echo "]}"
} >"$out/latency.json"
python3 - "$out/latency.json" <<'PY'
import json, sys
record = json.load(open(sys.argv[1]))
for line in record["lines"]:
    if "name" in line:
        print(f"{line['name']:42} {line['best']:10.1f} {line['median']:10.1f} {line['unit']}")
    else:
        print(json.dumps(line))
PY
[[ -z $failed ]]
