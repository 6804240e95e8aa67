"""The machine a figure was measured on, and what its GPU did meanwhile; nothing here changes a setting."""

import json
import os
import platform
import shutil
import subprocess
import threading

FIELDS = {
    "name": "name",
    "driver": "driver_version",
    "memory": "memory.total",
    "computeCapability": "compute_cap",
    "smClockMax": "clocks.max.sm",
    "memoryClockMax": "clocks.max.mem",
    "powerLimit": "power.limit",
}
CLOCKS = {"smMHz": "clocks.sm", "memoryMHz": "clocks.mem", "watts": "power.draw", "celsius": "temperature.gpu"}


def _query(fields):
    """{key: text} of the first GPU; empty where nvidia-smi is missing or refuses."""
    if shutil.which("nvidia-smi") is None:
        return {}
    command = ["nvidia-smi", f"--query-gpu={','.join(fields.values())}", "--format=csv,noheader,nounits"]
    try:
        out = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    except (subprocess.SubprocessError, OSError):
        return {}
    return dict(zip(fields, (word.strip() for word in out.splitlines()[0].split(","))))


def _cpu_name():
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"


def describe_machine():
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": _cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "memoryGiB": round(memory / 2**30),
        "os": f"{platform.system().lower()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "gpu": _query(FIELDS) or None,
    }


class ClockWatch:
    """Asks for the GPU's clocks every two seconds while in use; `summary` has the lowest, the median and the highest."""

    def __enter__(self):
        self._seen, self._done = [], threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self):
        while True:
            seen = _query(CLOCKS)
            if not seen:
                return
            self._seen.append(seen)
            if self._done.wait(2):
                return

    def __exit__(self, *_):
        self._done.set()
        self._thread.join(30)

    def summary(self):
        out = {}
        for key in CLOCKS:
            values = sorted(float(seen[key]) for seen in self._seen if _is_number(seen.get(key)))
            if values:
                out[key] = {"lowest": values[0], "median": values[len(values) // 2], "highest": values[-1]}
        return out or None


def _is_number(text):
    try:
        float(text)
        return True
    except (TypeError, ValueError):
        return False


def versions(root, nvcc):
    """Of the product, the compilers and what the peers say of themselves (added by the caller)."""
    first = lambda command: _last_line(command, root)
    return {
        "reverie": _product_version(root),
        "commit": os.environ.get("REVERIE_COMMIT") or first(["git", "rev-parse", "--short", "HEAD"]),
        "nvcc": first([nvcc, "--version"]) if nvcc else "none",
        "cxx": first([os.environ.get("CXX", "g++"), "-dumpfullversion"]),
    }


def _product_version(root):
    """Sources may have been brought here without it."""
    try:
        with open(os.path.join(root, "package.json")) as file:
            return json.load(file)["version"]
    except OSError:
        return "unknown"


def _last_line(command, folder):
    try:
        out = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=20, check=True).stdout
        return out.strip().splitlines()[-1]
    except (subprocess.SubprocessError, OSError, IndexError):
        return "unknown"
