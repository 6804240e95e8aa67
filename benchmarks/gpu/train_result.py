"""From what end-to-end.mjs measured of `reverie train` to the result gpu.train: wall time on the GPU over that on the processor."""

import json
import os
import sys

import intervals
import machine
import report

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main(folder, command, nvcc):
    with open(os.path.join(folder, "gpu.end-to-end.train.json")) as file:
        measured = json.load(file)
    (comparison,) = measured["comparisons"]
    ratio = intervals.interval([1 / speedup for speedup in comparison["speedups"]])
    context = {
        "machine": {**machine.describe_machine(), "node": measured["machine"]["node"]},
        "command": command,
        "versions": {**machine.versions(ROOT, nvcc), **measured["versions"]},
        "raw": {"device": comparison["device"], "isSame": comparison["isSame"]},
    }
    baseline = "the same run with --device cpu on the same machine"
    content = report.result("gpu.train", ratio, "ratio", baseline, measured["rows"], context)
    report.write_json(folder, "gpu.train.json", content)
    print(f"gpu.train: {ratio['value']:.2f} of the processor's wall time ({ratio['low']:.2f} - {ratio['high']:.2f}), n={ratio['n']}")


main(*sys.argv[1:])
