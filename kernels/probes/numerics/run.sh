#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh OUTDIR   on a machine with a Hopper GPU, a CUDA toolkit and python3 with numpy: asks the GPU what its arithmetic gives (README.md).
# run.sh --build FOLDER   only builds, without a GPU.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
if [[ ${1:-} == --build ]]; then
  work=${2:?usage: run.sh --build FOLDER}
  mkdir -p "$work"
  out=
else
  out=$(cd "${1:?usage: run.sh OUTDIR}" && pwd)
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi
cuda=${CUDA_HOME:-/usr/local/cuda}
parts=16
started=$SECONDS
python3 "$here/make_sweeps.py" "$here/forms.txt" "$work" $parts || exit 2
python3 "$here/make_matrix.py" "$work" $parts || exit 2
tasks=$work/tasks
: >"$tasks"
flags="-std=c++20 -O2 -I$root -isystem $cuda/include $root/golden/gpu_runner/driver.cc -ldl -pthread"
for ((i = 0; i < parts; ++i)); do
  echo "$cuda/bin/nvcc -std=c++17 -O1 -gencode=arch=compute_90a,code=sm_90a -cubin $work/matrix_$i.cu -o $work/matrix_$i.cubin" >>"$tasks"
  echo "$cuda/bin/ptxas -arch=sm_90a $work/sweeps_$i.ptx -o $work/sweeps_$i.cubin" >>"$tasks"
done
echo "$cuda/bin/nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a -cubin $here/tensor_maps.cu -o $work/tensor_maps.cubin" >>"$tasks"
for program in run_sweeps run_matrix run_tensor_maps; do
  echo "${CXX:-c++} $here/$program.cc $flags -o $work/$program" >>"$tasks"
done
xargs -P "$(nproc)" -I{} bash -c {} <"$tasks" || exit 2
echo "built in $((SECONDS - started)) s"
[[ -z $out ]] && exit 0

mkdir -p "$work/raw"
step() {
  local begin=$SECONDS code
  timeout -k 2 "$@"
  code=$?
  echo "$2: code $code, $((SECONDS - begin)) s" | sed "s#$work/##"
}
step 100 "$work/run_matrix" "$work" "$out"
step 150 "$work/run_sweeps" "$work" "$out" "$work/raw"
step 40 "$work/run_tensor_maps" "$work" "$out"
step 200 python3 "$here/pack_dense.py" "$work/raw" "$out" "${LIMIT_MB:-44}"
# Few files come back from a lent machine: the small ones in one.
cd "$out" && tar czf results.tgz -- *.sums *.txt tables.bin words.bin && rm -f -- *.sums *.txt tables.bin words.bin
ls -l "$out"
