#!/usr/bin/env bash
# Builds the kernels and the harness, checks every kernel against vector code, and measures: alone and against peers.
# Needs nvcc 12.8 or newer, g++, make and python3; PyTorch and JAX where they are to be compared. No Node, no network.
#
#   benchmarks/gpu/run.sh [PHASE...] [--quick] [--out DIR] [--only TEXT] [--minutes N]
#   benchmarks/gpu/run.sh --call 1|2                all of it in two calls of ten minutes
#   benchmarks/gpu/run.sh --emulated [PHASE...]     the same paths at tiny sizes, kernels on the host: shows that it runs
#
# Phases: check, time, peers; without one, all. Each fits in ten minutes.
# --call: 1 is check and time, 2 is peers, each within nine minutes and a half.
# --minutes: for this command as a whole, build included; without it, 8.5 for each phase. Clocks and other settings of the card stay
# as they are. Results: JSON and table.PHASE.txt in DIR (default: $OUT, or benchmarks/results/gpu).
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
cuda=$root/native/cuda
command_line="benchmarks/gpu/run.sh $*"
phases=() call='' quick='' emulated='' only='' minutes='' architecture=() phase_begun=0 out=${OUT:-$root/benchmarks/results/gpu}
while [ $# -gt 0 ]; do
  case $1 in
    check | time | peers) phases+=("$1") ;;
    --call) call=${2:-none} && shift ;;
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
  *) echo "--call 1 or 2? (see the head of $0)" >&2 && exit 2 ;;
esac
[ -z "$call" ] || minutes=${minutes:-9.5}
[ ${#phases[@]} -gt 0 ] || phases=(check time peers)
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=${PYTHON:-python3}
export PYTHONDONTWRITEBYTECODE=1

say() { echo "[gpu] $*" >&2; }

find_nvcc() { # its path, from PATH, next to CUDA, or in the wheels of Python
  local path
  for path in "$(command -v nvcc)" /usr/local/cuda/bin/nvcc; do
    if [ -x "$path" ]; then echo "$path" && return; fi
  done
  "$python" - <<'PY'
import glob, sys, sysconfig
found = glob.glob(f"{sysconfig.get_paths()['purelib']}/nvidia/**/bin/nvcc", recursive=True)
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
  local folder=build targets=bench
  if [ -n "$emulated" ]; then
    harness_options=--emulated
  else
    folder=build/measured targets='bench fatbin'
    nvidia-smi >"$out/card.log" || { say 'nvidia-smi finds no GPU; --emulated runs without one' && exit 2; }
    nvcc=${NVCC:-$(find_nvcc)} || { say 'nvcc is missing: install the CUDA toolkit, 12.8 or newer, or set NVCC' && exit 2; }
    harness_options="--kernels $cuda/$folder/kernels.fatbin"
    architecture=(NVCC="$nvcc" GPUS="$(architecture)")
    say "building with $nvcc for ${architecture[1]}"
  fi
  case " ${phases[*]} " in *' check '*) targets+=" $folder/check" ;; esac
  # shellcheck disable=SC2086
  make -C "$cuda" -j"$(nproc)" BUILD=$folder "${architecture[@]}" $targets >"$out/build.log" 2>&1 ||
    { tail -30 "$out/build.log" >&2 && exit 1; }
  harness=$cuda/$folder/reverie-bench checker=$cuda/$folder/check
}

check() {
  local what=device
  [ -n "$emulated" ] || what=$harness_options
  # shellcheck disable=SC2086
  "$checker" $what | tee "$out/check.txt"
}

minutes_left() { awk "BEGIN { print ${minutes:-8.5} - ($SECONDS - $phase_begun) / 60 }"; }

measure() { # PHASE
  local size=(--minutes "$(minutes_left)")
  [ -z "$quick$emulated" ] || size+=(--rounds 3 --calls 3)
  [ -z "$emulated" ] || size+=(--tiny --cpu-peers)
  "$python" "$root/benchmarks/gpu/measure.py" "$1" --harness "$harness" "--harness-options=$harness_options" --out "$out" \
    --work "$work" --command "$command_line" --nvcc "${nvcc:-}" --only "$only" "${size[@]}"
}

build
failed=()
for phase in "${phases[@]}"; do
  say "phase $phase"
  case $phase in
    check) check || failed+=(check) ;;
    *) measure "$phase" || failed+=("$phase") ;;
  esac
  # Without --minutes each phase has its own; the build is of the first.
  [ -n "$minutes" ] || phase_begun=$SECONDS
done
[ ${#failed[@]} -eq 0 ] || { say "failed: ${failed[*]}" && exit 1; }
say "results in $out"
