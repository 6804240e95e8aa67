"""PyTorch as a side of the comparison: eager, compiled, and compiled steps captured in one CUDA graph; `--cpu` for a dry run."""

import gc
import os
import sys
import time

if "--cpu" in sys.argv:
    # Some virtual machines announce instructions for bf16 that they do not have.
    os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE")

import torch

from serve import Prepared, serve
from torch_ensemble import Rollout, TorchEnsemble, use_precision
from weights import Weights

DEVICE = "cpu" if "--cpu" in sys.argv else "cuda"
IS_GPU = DEVICE == "cuda"
state = {}


def synchronize():
    if IS_GPU:
        torch.cuda.synchronize()


def time_calls(run, calls):
    """Milliseconds of each call: CUDA events around it, or the clock on a CPU. Nothing waits for the device in between."""
    if not IS_GPU:
        times = []
        for _ in range(calls):
            start = time.perf_counter()
            run()
            times.append(1000 * (time.perf_counter() - start))
        return times
    events = [torch.cuda.Event(enable_timing=True) for _ in range(calls + 1)]
    synchronize()
    events[0].record()
    for event in events[1:]:
        run()
        event.record()
    synchronize()
    return [first.elapsed_time(last) for first, last in zip(events, events[1:])]


def captured(run):
    """`run` as one CUDA graph. On a CPU, where there is none, `run` itself."""
    if not IS_GPU:
        return run
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        answer = run()

    # The graph reads what `run` holds, and does not keep it.
    def replay(kept=(run, answer)):
        graph.replay()

    return replay


class Work:
    """Something to run again and again, under the precision and grad mode it was made for."""

    def __init__(self, run, precision, described):
        self._run, self._precision, self.described = run, precision, described

    def run(self):
        use_precision(self._precision)
        with torch.inference_mode():
            return self._run()


def prepared_work(make, mode, precision, described):
    use_precision(precision)
    with torch.inference_mode():
        run = make()
        for _ in range(3):
            run()
        synchronize()
        return Work(captured(run) if mode == "graphs" else run, precision, described)


def fastest(candidates):
    """Of the works that can be made, the one whose median call is shortest; those that cannot be are named."""
    best, failures = None, []
    for make in candidates:
        try:
            work = make()
            work.run()
            median = sorted(time_calls(work.run, 5))[2]
        except Exception as error:  # libraries refuse a form with errors of many kinds
            failures.append(f"{type(error).__name__}: {error}".splitlines()[0][:160])
            continue
        if best is None or median < best[0]:
            best = (median, work)
    if best is None:
        raise RuntimeError("; ".join(failures))
    if failures:
        best[1].described["failed"] = failures
    return best[1]


def make_rollout(mode, precision, members, rows, horizon, policy, disagreement=0, autotune=0):
    torch.manual_seed(0)
    ensemble = TorchEnsemble(state["weights"], members, policy, precision, DEVICE)
    if disagreement:
        forms = ["disagreement"]
    else:
        # All members on many rows is five times the arithmetic for nothing; groups must be of equal size.
        forms = ["grouped"] * (rows % members == 0) + ["select"] * (rows <= 20_000)
    tunings = [0, 1] if autotune and mode == "graphs" else [0]

    def candidate(form, tuned):
        described = {"form": form, "autotuned": bool(tuned)}
        return lambda: prepared_work(lambda: Rollout(ensemble, form, rows, horizon, mode, tuned).run, mode, precision, described)

    return fastest([candidate(form, tuned) for form in forms for tuned in tunings])


def make(kind, **case):
    if kind == "rollout":
        return make_rollout(**case)
    raise ValueError(f"unknown kind {kind}")


def load(path):
    state["weights"] = Weights(path)
    return {}


def verify(precision, members):
    """Largest difference to what the harness answered to its sample rows, relative to the norm of the change."""
    weights = state["weights"]
    use_precision(precision)
    ensemble = TorchEnsemble(weights, members, "linear", precision, DEVICE)
    rows = {name: torch.from_numpy(weights[f"sample.{name}"].copy()).to(DEVICE) for name in ("obs", "action", "nextObs", "reward")}
    with torch.inference_mode():
        next_obs, reward = ensemble.expected(rows["obs"], rows["action"])
    ours = torch.cat((rows["nextObs"] - rows["obs"], rows["reward"][:, None]), -1).double()
    theirs = torch.cat((next_obs - rows["obs"], reward[:, None]), -1).double()
    return {"relativeError": float((theirs - ours).norm() / ours.norm())}


def versions():
    if IS_GPU and not torch.cuda.is_available():
        raise RuntimeError("PyTorch finds no GPU")
    return {"torch": torch.__version__, "cuda": str(torch.version.cuda)}


def when_empty():
    """Compiled code is dropped only when nobody holds it any more: a reset would compile it anew within a measurement."""
    torch.compiler.reset()
    gc.collect()
    if IS_GPU:
        torch.cuda.empty_cache()


serve(Prepared(make, time_calls, when_empty).methods(load=load, verify=verify, versions=versions))
