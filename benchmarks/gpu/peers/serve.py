"""The worker's side of the conversation that benchmarks/gpu/sides.py begins: a line in, a line of JSON out."""

import json
import os
import sys


def _value(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def serve(methods):
    """Answers each line `method key=value ...` with methods[method](**values) until stdin ends."""
    # Libraries that print would break the protocol, those in C and processes they start too.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    for line in sys.stdin:
        method, *words = line.split()
        try:
            parameters = dict(word.split("=", 1) for word in words)
            answer = {"result": methods[method](**{key: _value(text) for key, text in parameters.items()})}
        except Exception as error:  # the driver says which row it spoils
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:400]}
        print(json.dumps(answer), file=out, flush=True)


class Prepared:
    """The pieces of work a worker holds at once, by id: `prepare` makes one, `measure` runs it, `release` drops it."""

    def __init__(self, make, time_calls, when_empty):
        self._make, self._time_calls, self._when_empty = make, time_calls, when_empty
        self._work = {}

    def prepare(self, id, **case):
        self._work[id] = self._make(**case)
        return self._work[id].described

    def measure(self, id, calls, warmup):
        """Milliseconds of each of `calls` calls, after `warmup` that are not counted."""
        for _ in range(warmup):
            self._work[id].run()
        return {"spanMs": self._time_calls(self._work[id].run, calls)}

    def release(self, id):
        self._work.pop(id, None)
        if not self._work:
            self._when_empty()
        return {}

    def methods(self, **others):
        return {"prepare": self.prepare, "measure": self.measure, "release": self.release, **others}
