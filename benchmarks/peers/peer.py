"""The Python side of a peer: answers one JSON object a line on stdin with one on stdout."""

import importlib.util
import json
import subprocess
import sys


def install_mbrl():
    """mbrl-lib pins hydra-core 1.0, which no longer imports on Python 3.11: it is installed without its pins."""
    if importlib.util.find_spec("mbrl") is None:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "mbrl==0.2.0"]
        subprocess.run(pip, check=True, stdout=sys.stderr)


def serve(methods):
    """Runs methods[request["method"]](**the rest) for each request until stdin ends."""
    # Libraries that print would break the protocol.
    out, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"result": methods[request.pop("method")](**request)}
        except Exception as error:  # reported to the other side, which gives up
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=out, flush=True)
