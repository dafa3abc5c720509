#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# make_ptx.sh            writes gemm_bf16_hopper.ptx and mutants/NAME.ptx, and assembles each (needs nvcc and ptxas)
# make_ptx.sh --check    writes nothing: says for each committed file whether this machine's nvcc makes the same
# make_ptx.sh [--check] NAME...   only these (`none` is the kernel itself)
#
# The PTX is the same on every machine with the same nvcc: the one path in it is made relative. --check ends with 0 also where files
# differ: another nvcc is no fault of the kernel. It names the versions, so that a stale file can be told from another compiler.
set -euo pipefail
cd "$(dirname "$0")"
source=gemm_bf16_hopper.cu

check=false
if [[ ${1:-} == --check ]]; then
  check=true
  shift
fi
known=$(sed -n '/^enum class Mutant {/,/^};/s/^  \([a-z0-9_]*\),.*/\1/p' "$source")
names=${*:-$known}

nvcc=$(command -v nvcc || { [[ -x /usr/local/cuda/bin/nvcc ]] && echo /usr/local/cuda/bin/nvcc; } || true)
if [[ -z $nvcc ]]; then
  echo "make_ptx.sh: no nvcc here; the committed PTX was not compared"
  $check && exit 0 || exit 2
fi
ptxas=$(dirname "$nvcc")/ptxas
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

path_of() { [[ $1 == none ]] && echo gemm_bf16_hopper.ptx || echo "mutants/$1.ptx"; }
version_of() { sed -n 's|^// Cuda compilation tools, release .*, V||p' "$1"; }

generate() {  # NAME OUTPUT
  "$nvcc" -std=c++20 -ptx -lineinfo -gencode arch=compute_90a,code=compute_90a "-DMUTANT=$1" "$source" -o "$work/raw.ptx"
  sed -e "s|^\(\t\.file\t[0-9]* \)\".*/$source\".*|\1\"$source\"|" -e 's/[ \t]*$//' "$work/raw.ptx" >"$2"
}

differing=0
for name in $names; do
  if ! grep -qx "$name" <<<"$known"; then
    echo "make_ptx.sh: no mutant is called '$name'; there are:" $known >&2
    exit 2
  fi
  path=$(path_of "$name")
  generate "$name" "$work/new.ptx"
  if $check; then
    if [[ ! -f $path ]]; then
      echo "$path: missing"
    elif cmp -s "$work/new.ptx" "$path"; then
      echo "$path: same"
      continue
    elif [[ $(version_of "$path") != $(version_of "$work/new.ptx") ]]; then
      echo "$path: differs; it was made by nvcc $(version_of "$path"), this is nvcc $(version_of "$work/new.ptx")"
    else
      echo "$path: differs, though made by the same nvcc $(version_of "$path"): run make_ptx.sh and commit"
    fi
    differing=$((differing + 1))
  else
    mkdir -p mutants
    report=$("$ptxas" -arch=sm_90a -v "$work/new.ptx" -o "$work/new.cubin" 2>&1)
    cp "$work/new.ptx" "$path.partial"
    mv "$path.partial" "$path"
    echo "$path:" $(grep -o 'Used [0-9]* registers' <<<"$report") $(grep -o '[0-9]* bytes spill stores' <<<"$report") \
      $(grep -i 'warning\|C75' <<<"$report" || true)
  fi
done
if $check; then
  [[ $differing == 0 ]] && echo "the committed PTX is what this nvcc makes" || echo "$differing of the committed PTX files differ"
fi
