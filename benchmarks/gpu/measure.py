"""Times the harness, alone (`time`) or against peers in turns (`peers`); called by run.sh, which builds it first."""

import argparse
import os
import statistics
import sys
import time

import cases
import report
from intervals import interval, ratio_interval
from machine import ClockWatch, describe_machine, versions
from sides import Side, SideFailed, measure_in_turns

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PEER_SCRIPTS = {"torch": "torch_peer.py", "jax": "jax_peer.py", "mbrl": "mbrl_peer.py"}


def log(line):
    print(f"[gpu] {line}", file=sys.stderr, flush=True)


class Sides:
    """The harness and the peers that could be started; why the others could not is in `absent`."""

    def __init__(self, options, peers):
        self._options, self._sides, self.absent, self.versions = options, {}, {}, {}
        self.ours = Side("ours", [options.harness, *options.harness_options], options.log)
        for name in peers:
            self._start(name)

    def _start(self, name):
        script = os.path.join(HERE, "peers", PEER_SCRIPTS[name])
        command = [self._options.python, "-u", script, *(["--cpu"] if self._options.cpu_peers else [])]
        side = Side(name, command, self._options.log)
        try:
            self.versions.update(side.call("versions"))
            self._sides[name] = side
        except SideFailed as error:
            side.close()
            self.absent[name] = str(error)
            log(f"{name}: {self.absent[name]}; its rows are left out")

    def drop(self, name, reason):
        self._sides.pop(name).close()
        self.absent[name] = reason
        log(f"{name}: {reason}; its rows are left out")

    def of(self, name):
        """The process behind a side: `torch-graphs` and `torch-eager` share one. None where it is absent."""
        return self.ours if name == "ours" else self._sides.get(name.split("-")[0])

    def load(self, weights):
        """Gives the peers our weights, and keeps those that compute what we do. Answers their relative errors."""
        errors = {}
        for name, side in list(self._sides.items()):
            try:
                side.call("load", path=weights)
                if name == "mbrl":
                    continue
                errors[name] = side.call("verify", precision="fp32", members=cases.MEMBERS)["relativeError"]
                if not errors[name] < 1e-3:
                    raise SideFailed(f"does not compute what the harness does: relative error {errors[name]}")
            except SideFailed as error:
                self.drop(name, str(error))
        return errors

    def close(self):
        for side in (self.ours, *self._sides.values()):
            side.close()


def parameters_of(case, side):
    """What `prepare` is told."""
    words = case.parameters()
    if side == "ours":
        return {**words, "deliver": case.deliver}
    return {**words, "autotune": case.autotune, "mode": side.split("-", 1)[-1]}


def prepare(sides, case, names, options):
    """[(name, process, id)] of the sides that are ready, and [{row}] of those that are not, each with its reason."""
    ready, failed, described = [], [], {}
    for name in names:
        process, id = sides.of(name), f"{case.id}/{name}"
        if process is None:
            continue
        start = time.monotonic()
        try:
            described[name] = process.call("prepare", id=id, **parameters_of(case, name))
            ready.append((name, process, id))
            log(f"{case.id}: {name} ready in {time.monotonic() - start:.1f} s; {report.told(described[name])}")
        except SideFailed as error:
            log(f"{case.id}: {name} failed: {error}")
            failed.append({"case": case.id, "side": name, "failure": str(error)})
    return ready, failed, described


# What a row is judged by: device time from the first kernel to the end of the last; for delivered rows, the caller's time; for a
# step on its own, the kernels alone, as its rows come from the host.
def quantity_of(case):
    if case.deliver:
        return "wallMs"
    return "busyMs" if case.kind == "step" else "spanMs"


def row_of(case, name, samples, described):
    ms = samples["spanMs" if name != "ours" else quantity_of(case)]
    rates = [case.units_a_run() / value * 1e3 for value in ms]
    row = {"case": case.id, "side": name, "unit": case.unit, **interval(rates), "settings": described, "milliseconds": samples}
    steps = 1 if case.kind == "step" else case.horizon
    row["deviceMicrosecondsAStep"] = statistics.median(samples["busyMs" if case.kind == "step" else "spanMs"]) / steps * 1e3
    if name == "ours":
        row["callerMicrosecondsAStep"] = statistics.median(samples["wallMs"]) / steps * 1e3
    if name == "ours" and case.goal is not None:
        row.update(floor=case.floor, goal=case.goal)
    return row


def measure_case(sides, case, names, options):
    """Rows of one case, ours first; the ratio to each peer is taken round by round."""
    ready, rows, described = prepare(sides, case, names, options)
    samples, failures = measure_in_turns(ready, options.rounds, options.calls, log, 0 if options.tiny else 0.3)
    for name, process, id in ready:
        if name in failures:
            rows.append({"case": case.id, "side": name, "failure": failures[name]})
        else:
            rows.append(row_of(case, name, samples[name], described[name]))
        release(process, id)
    if "ours" in samples and "ours" not in failures:
        mine = samples["ours"][quantity_of(case)]
        for row in rows:
            if row["side"] != "ours" and "failure" not in row:
                row["oursOverThis"] = ratio_interval(row["milliseconds"]["spanMs"], mine)
    rows.sort(key=lambda row: row["side"] != "ours")
    return rows


def release(process, id):
    try:
        process.call("release", id=id)
    except SideFailed as error:
        log(f"{id}: {error}")


def chosen_cases(options):
    """The cases of a phase; the order is that of importance, as time may run out."""
    listed = cases.ENSEMBLE
    if options.phase == "peers":
        listed = [case for case in listed if case.peers]
    if options.only:
        listed = [case for case in listed if options.only in case.id]
    return [cases.tiny(case) for case in listed] if options.tiny else listed


def measure(options, sides, note):
    """Rows of all cases that could be begun in time; what was left out is a row that says so. `note` is given them so far."""
    rows, took = [], 0
    for case in chosen_cases(options):
        names = ["ours"] if options.phase == "time" else ["ours", *case.peers]
        begun = time.monotonic()
        if begun - options.started + took > 60 * options.minutes:
            rows.append({"case": case.id, "side": "all", "failure": f"left out: {options.minutes:.1f} minutes would not do"})
            continue
        rows += measure_case(sides, case, names, options)
        took = time.monotonic() - begun
        note(rows)
    return rows


def keep(options, rows, context):
    """Writes the results of the phase. Answers their paths."""
    def headline(id, side, key=None):
        row = next((r for r in rows if r["case"] == id and r["side"] == side and "failure" not in r), None)
        return row and (row.get(key) if key else row)

    torch = f"PyTorch {context['versions'].get('torch', 'absent')}, compiled steps in one CUDA graph, the fastest of its forms"
    if options.phase == "time":
        content = report.result("gpu.ensemble", headline("ts1.tf32.1M", "ours"), "transitions/s", "none", rows, context)
    else:
        ratio = headline("ts1.tf32.1M", "torch-graphs", "oursOverThis")
        content = report.result("gpu.vs-torch-compile", ratio, "ratio", torch, rows, context)
    return report.write_json(options.out, f"{content['id']}.json", content)


def read_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("phase", choices=("time", "peers"))
    parser.add_argument("--harness", required=True)
    parser.add_argument("--harness-options", default="", type=str.split)
    parser.add_argument("--out", required=True)
    parser.add_argument("--work", required=True, help="folder for files nobody keeps")
    parser.add_argument("--command", required=True)
    parser.add_argument("--nvcc", default="")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=7)
    parser.add_argument("--only", default="", help="cases whose id has this in it")
    parser.add_argument("--cpu-peers", action="store_true")
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    options.log = os.path.join(options.out, "sides.log")
    return options


def begin(options, sides):
    """What all rows of a phase share: the machine and the card's limits."""
    limits = sides.ours.call("limits")
    return {"machine": describe_machine(), "command": options.command, "limits": limits}


def measure_phase(options, sides, context, note):
    """Rows of the phase; the peers' agreement is measured first."""
    context["peersRelativeError"] = {}
    if options.phase == "peers":
        weights = os.path.join(options.work, "weights.bin")
        sides.ours.call("export", path=weights)
        context["peersRelativeError"] = sides.load(weights)
    return measure(options, sides, note)


def main():
    started = time.monotonic()
    options = read_options()
    options.started = started
    sides = Sides(options, {"time": (), "peers": ("torch", "jax", "mbrl")}[options.phase])
    context = begin(options, sides)
    context["versions"] = {**versions(ROOT, options.nvcc), "driver": context["limits"]["driverVersion"], **sides.versions}
    counts = {"rounds": options.rounds, "callsARound": options.calls, "warmUpCallsARound": 1}
    with ClockWatch() as clocks:

        def note(rows):
            """Keeps what there is, so that a phase which is cut off loses the case at hand alone."""
            kept = {key: context[key] for key in ("limits", "peersRelativeError")}
            context["raw"] = {**kept, "clocks": clocks.summary(), "absent": sides.absent, **counts}
            return keep(options, rows, context)

        rows = measure_phase(options, sides, context, note)
    sides.close()
    path = note(rows)
    title = [f"\n== {options.phase}: {context['limits']['name']}"]
    if clocks.summary():
        title.append(report.told(clocks.summary()))
    if options.tiny:
        title.append("tiny sizes, whatever a row is called: it shows that all runs, and its figures mean nothing")
    with open(os.path.join(options.out, f"table.{options.phase}.txt"), "w") as file:
        for stream in (file, sys.stdout):
            print(f"{'; '.join(title)}\n{report.table(rows)}", file=stream)
    log(f"wrote {path}")
    sys.exit(1 if any(row["side"] == "ours" and "failure" in row for row in rows) else 0)


main()
