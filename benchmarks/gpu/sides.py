"""The processes that are compared: each holds prepared work and runs it when asked, so that all can take turns in one run."""

import json
import os
import select
import subprocess
import time


class SideFailed(Exception):
    """What a side could not do, in its own words."""


class Side:
    """A process that answers lines `method key=value ...` with lines of JSON (peers/serve.py, native/cuda/bench/serve.cc)."""

    def __init__(self, name, command, log_path, seconds=420):
        self.name, self._seconds = name, seconds
        self._log = open(log_path, "ab")
        self._log_begins = self._log.tell()
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log)

    def call(self, method, **values):
        words = " ".join([method, *(f"{key}={value}" for key, value in values.items())])
        try:
            self._process.stdin.write(f"{words}\n".encode())
            self._process.stdin.flush()
            line = self._read_line()
        except BrokenPipeError:
            line = b""
        if not line:
            raise SideFailed(f"{self.name} ended during `{method}`: {self._last_words()}")
        try:
            answer = json.loads(line)
        except ValueError:
            self._process.kill()  # its answers are no longer in step with our questions
            raise SideFailed(f"{self.name} answered `{method}` with {line[:80]!r}") from None
        if "error" in answer:
            raise SideFailed(answer["error"])
        return answer["result"]

    def _read_line(self):
        ready, _, _ = select.select([self._process.stdout], [], [], self._seconds)
        if not ready:
            self._process.kill()
            raise SideFailed(f"{self.name} did not answer for {self._seconds} s and was ended")
        return self._process.stdout.readline()

    def _last_words(self):
        """The last line that it wrote to the log before it ended: of a Python that fails, the error."""
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
        with open(self._log.name, errors="replace") as log:
            log.seek(self._log_begins)
            lines = [line.strip() for line in log if line.strip()]
        return f"{lines[-1] if lines else 'it said nothing'} ({os.path.basename(self._log.name)})"

    def close(self):
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._log.close()


def warm_up(works, seconds, failures, log):
    """Brings clocks to where work keeps them: preparing on the host leaves the GPU idle."""
    for key, side, id in works:
        until = time.monotonic() + seconds
        try:
            while time.monotonic() < until:
                side.call("measure", id=id, calls=1, warmup=3)
        except SideFailed as error:
            failures[key] = str(error)
            log(f"{key}: {error}")


def measure_in_turns(works, rounds, calls, log, warm=0.3):
    """One sample a round of each of `works` ([(key, side, id)]), the order turned round every second time.

    Returns {key: {quantity: [value of each round]}} in milliseconds; a side that fails is left out from there on, in `failures`.
    """
    samples, failures = {key: {} for key, _, _ in works}, {}
    warm_up(works, warm, failures, log)
    for r in range(rounds):
        for key, side, id in works if r % 2 == 0 else works[::-1]:
            if key in failures:
                continue
            try:
                answer = side.call("measure", id=id, calls=calls, warmup=1)
            except SideFailed as error:
                failures[key] = str(error)
                log(f"{key}: {error}")
                continue
            for quantity, values in answer.items():
                samples[key].setdefault(quantity, []).append(sorted(values)[len(values) // 2])
    return samples, failures
