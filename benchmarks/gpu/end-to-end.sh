#!/usr/bin/env bash
# What a device is worth to somebody who runs `reverie synth` and `reverie train`: same seeds with --device cpu and cuda, wall
# time and what came out, side by side. Needs Node and the built product (dist, node_modules); all else is in end-to-end.mjs.
#
#   benchmarks/gpu/end-to-end.sh prepare DIR             records, a model and its scenario for `synth`: no GPU needed, once
#   benchmarks/gpu/end-to-end.sh synth|train [DIR] [--devices cpu,cuda:fp32] [--seeds N] [--quick] [--out FOLDER]
#
# A device is what --device takes, with a precision behind it if the default is not meant; the first is held against the others.
# --minutes N: no seed is begun that could not end by then if it takes as long as the longest before.
# PRODUCT: the folder of the built product, if it is not this one (as run.sh unpacks it). NODE: another Node than that of PATH, such as one unpacked from an archive that was brought along.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
node=${NODE:-node}
case ${1:-} in
  prepare | synth | train) ;;
  *) echo "prepare, synth or train? See the head of $0" >&2 && exit 2 ;;
esac
command -v "$node" >/dev/null || { echo "no Node at '$node': set NODE" >&2 && exit 2; }
[ -f "${PRODUCT:-$root}/dist/cli.js" ] || { echo "not built: run npm run build, or bring dist along" >&2 && exit 2; }
exec "$node" "$root/benchmarks/gpu/end-to-end.mjs" "$@"
