#!/usr/bin/env bash
# Builds the kernels and the harness, checks every kernel against doubles, and measures: alone and against peers.
# Needs nvcc 12.8 or newer, g++, make and python3; PyTorch and JAX where they are to be compared. No Node (train brings it), no network.
#
#   benchmarks/gpu/run.sh [PHASE...] [--quick] [--out DIR] [--only TEXT] [--minutes N]
#   benchmarks/gpu/run.sh --call 1|2|3              all of it in three calls of ten minutes
#   benchmarks/gpu/run.sh --emulated [PHASE...]     the same paths at tiny sizes, kernels on the host: shows that it runs
#
# Phases: check, time, peers, sanitize, train; without one: check time peers. Each fits in ten minutes.
# --call: 1 is check and time, 2 is peers, 3 is sanitize and train, each within nine minutes and a half.
# --minutes: for this command as a whole, build included; without it, 8.5 for each phase. Clocks and other settings of the card stay
# as they are. Results: JSON and table.PHASE.txt in DIR (default: $OUT, or benchmarks/results/gpu).
# train: `reverie train` on both. It takes the archive of pack.mjs (--product FILE; default: benchmarks/gpu/carry/product.tar.xz), with
# a Node of its own; without one, the product that is built here and the Node of PATH.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
cuda=$root/native/cuda
command_line="benchmarks/gpu/run.sh $*"
phases=() call='' quick='' emulated='' only='' minutes='' phase_begun=0 out=${OUT:-$root/benchmarks/results/gpu}
product=$root/benchmarks/gpu/carry/product.tar.xz
while [ $# -gt 0 ]; do
  case $1 in
    check | time | peers | sanitize | train) phases+=("$1") ;;
    --call) call=${2:-none} && shift ;;
    --product) product=$2 && shift ;;
    --quick) quick=1 ;;
    --emulated) emulated=1 ;;
    --out) out=$2 && shift ;;
    --only) only=$2 && shift ;;
    --minutes) minutes=$2 && shift ;;
    *) echo "unknown: $1 (see the head of $0)" >&2 && exit 2 ;;
  esac
  shift
done
case $call in
  '') ;;
  1) phases=(check time) ;;
  2) phases=(peers) ;;
  # Races and stray accesses can be looked for on a GPU alone.
  3) [ -n "$emulated" ] && phases=(train) || phases=(sanitize train) ;;
  *) echo "--call 1, 2 or 3? (see the head of $0)" >&2 && exit 2 ;;
esac
[ -z "$call" ] || minutes=${minutes:-9.5}
[ ${#phases[@]} -gt 0 ] || phases=(check time peers)
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=${PYTHON:-python3}
export PYTHONDONTWRITEBYTECODE=1

say() { echo "[gpu] $*" >&2; }

find_tool() { # NAME: its path, from PATH, next to CUDA, or in the wheels of Python
  local path
  for path in "$(command -v "$1")" /usr/local/cuda/bin/"$1" /usr/local/cuda/compute-sanitizer/"$1"; do
    if [ -x "$path" ]; then echo "$path" && return; fi
  done
  "$python" - "$1" <<'PY'
import glob, sys, sysconfig
found = glob.glob(f"{sysconfig.get_paths()['purelib']}/nvidia/**/bin/{sys.argv[1]}", recursive=True)
print(found[0]) if found else sys.exit(1)
PY
}

# Only the card's own architecture is compiled here: a third of the time of all.
architecture() {
  case $(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1) in
    9.0) echo '-gencode arch=compute_80,code=sm_90' ;;
    10.0) echo '-gencode arch=compute_80,code=sm_100' ;;
    *) echo '-gencode arch=compute_80,code=[sm_80,compute_80]' ;;
  esac
}

build() {
  local jobs
  jobs=$(nproc)
  if [ -n "$emulated" ]; then
    make -C "$cuda" -f bench/Makefile -j"$jobs" harness >"$out/build.log" 2>&1 || { tail -30 "$out/build.log" >&2 && exit 1; }
    harness=$cuda/build/reverie-bench harness_options='--emulated --small' check_options='--emulated --small'
    return
  fi
  nvidia-smi >"$out/build.log" || { say 'nvidia-smi finds no GPU; --emulated runs without one' && exit 2; }
  nvcc=${NVCC:-$(find_tool nvcc)} || { say 'nvcc is missing: install the CUDA toolkit, 12.8 or newer, or set NVCC' && exit 2; }
  say "building with $nvcc for $(architecture)"
  make -C "$cuda" -f bench/Makefile -j"$jobs" BUILD=build/measured NVCC="$nvcc" GPUS="$(architecture)" fatbin ceilings harness \
    >>"$out/build.log" 2>&1 || { tail -30 "$out/build.log" >&2 && exit 1; }
  harness=$cuda/build/measured/reverie-bench
  harness_options="--kernels $cuda/build/measured/kernels.fatbin --ceilings $cuda/build/measured/ceilings.fatbin"
  check_options=$harness_options${quick:+ --few-rows}
}

check() {
  # shellcheck disable=SC2086
  "$harness" check $check_options --json "$out/check.json" | tee "$out/check.txt"
}

sanitize() {
  local tool sanitizer status=0 left=4 limit codes
  sanitizer=$(find_tool compute-sanitizer) || { say 'compute-sanitizer is missing: nothing was checked for races or stray accesses' && return 1; }
  [ -z "$emulated" ] || { say 'compute-sanitizer needs a GPU' && return 1; }
  : >"$out/sanitize.txt"
  for tool in memcheck racecheck initcheck synccheck; do
    limit=$(((sanitize_until - SECONDS) / left)) left=$((left - 1)) codes=(--error-exitcode 86)
    [ "$limit" -gt 10 ] || limit=10
    # Each kernel is looked for in one module after another; a module that lacks it is no error.
    [ "$tool" != memcheck ] || codes+=(--report-api-errors no)
    # Copies to the host take along gaps between arrays, which nobody writes: of initcheck only what kernels read counts.
    [ "$tool" != initcheck ] || codes=()
    # shellcheck disable=SC2086
    if timeout -k 5 "$limit" "$sanitizer" --tool "$tool" "${codes[@]}" "$harness" check $harness_options --few-rows --unpoisoned \
      >"$work/tool.txt" 2>&1 && ! grep -q 'Uninitialized __global__' "$work/tool.txt"; then
      say "$tool: nothing found"
    else
      status=1
      say "$tool: failed"
      tail -15 "$work/tool.txt" >&2
    fi
    { echo "== $tool" && cat "$work/tool.txt"; } >>"$out/sanitize.txt"
  done
  return $status
}

minutes_left() { awk "BEGIN { print ${minutes:-8.5} - ($SECONDS - $phase_begun) / 60 }"; }

# The product and its Node, brought along or built here; its addon is compiled here, its kernels are those that were measured.
train() {
  local folder=$root node=${NODE:-node} devices=cpu,cuda size=(--seeds 5) headers
  if [ -f "$product" ]; then
    folder=$cuda/build/product
    say "unpacking $product"
    rm -rf "$folder" && mkdir -p "$folder"
    "$python" -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$product" "$folder"
    ln -s "$root/native" "$folder/native"
    node=$folder/node
  fi
  headers="$folder/node_modules/node-addon-api $folder/node_modules/node-api-headers/include"
  make -C "$cuda" -j"$(nproc)" NAPI_HEADERS="$headers" addon >>"$out/build.log" 2>&1 || { tail -30 "$out/build.log" >&2 && return 1; }
  if [ -n "$emulated" ]; then
    devices=cpu,emulated
  else
    cp "$cuda/build/measured/kernels.fatbin" "$cuda/build/kernels.fatbin"
  fi
  [ -z "$quick$emulated" ] || size=(--seeds 1 --quick)
  NODE=$node PRODUCT=$folder "$root/benchmarks/gpu/end-to-end.sh" train --devices "$devices" --minutes "$(minutes_left)" \
    "${size[@]}" --out "$out" | tee "$out/table.train.txt" || return 1
  "$python" "$root/benchmarks/gpu/train_result.py" "$out" "$command_line" "${nvcc:-}" | tee -a "$out/table.train.txt"
}

measure() { # PHASE
  local size=(--minutes "$(minutes_left)")
  [ -z "$quick$emulated" ] || size+=(--rounds 3 --calls 3)
  [ -z "$emulated" ] || size+=(--tiny --cpu-peers)
  "$python" "$root/benchmarks/gpu/measure.py" "$1" --harness "$harness" "--harness-options=$harness_options" --out "$out" \
    --work "$work" --command "$command_line" --nvcc "${nvcc:-}" --only "$only" "${size[@]}"
}

# With training to come, sanitizing has the first five minutes.
sanitize_until=570
case " ${phases[*]} " in *' train '*) sanitize_until=300 ;; esac
build
failed=()
for phase in "${phases[@]}"; do
  say "phase $phase"
  case $phase in
    check) check || failed+=(check) ;;
    sanitize) sanitize || failed+=(sanitize) ;;
    train) train || failed+=(train) ;;
    *) measure "$phase" || failed+=("$phase") ;;
  esac
  # Without --minutes each phase has its own; the build is of the first.
  [ -n "$minutes" ] || phase_begun=$SECONDS
done
[ ${#failed[@]} -eq 0 ] || { say "failed: ${failed[*]}" && exit 1; }
say "results in $out"
