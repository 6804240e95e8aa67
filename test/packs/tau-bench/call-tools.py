"""Answers calls by τ-bench's own Python tools: python3 call-tools.py RELEASE DOMAIN SOURCES < calls.jsonl > answers.jsonl

SOURCES holds clones of tau-bench and tau2-bench; "-" takes the successor from its package, where that is installed. A line of input is
{"name", "arguments"}, or {"reset": PATH} for a fresh database; each call gets one line: the JSON string of what an agent is shown. tau2 needs pydantic, loguru, addict, deepdiff,
python-dotenv and docstring-parser.
"""

import importlib
import importlib.util
import json
import os
import sys
import types

release, domain, sources = sys.argv[1:]


def stand_in(name, folder):
    """A package whose own __init__ is not run: it would pull in models and services."""
    module = types.ModuleType(name)
    module.__path__ = [folder]
    sys.modules[name] = module
    return module


class FirstRelease:
    def __init__(self):
        root = os.path.join(sources, "tau-bench", "tau_bench")
        for part in ("", ".envs", ".envs.airline", ".envs.retail"):
            stand_in("tau_bench" + part, root + part.replace(".", os.sep))
        tools = importlib.import_module(f"tau_bench.envs.{domain}.tools").ALL_TOOLS
        self.tools = {tool.get_info()["function"]["name"]: tool for tool in tools}

    def reset(self, db):
        self.data = read(db)

    def call(self, name, arguments):
        if name not in self.tools:
            return f"Unknown action {name}"
        try:
            answer = self.tools[name].invoke(data=self.data, **arguments)
        except Exception as error:
            answer = f"Error: {error}"
        return "null" if answer is None else answer


class Successor:
    def __init__(self):
        if sources == "-":
            root = os.path.dirname(importlib.util.find_spec("tau2").origin)
        else:
            root = os.path.join(sources, "tau2-bench", "src", "tau2")
        for part in ("", ".domains", ".domains.airline", ".domains.retail", ".environment"):
            stand_in("tau2" + part, root + part.replace(".", os.sep))
        utils = stand_in("tau2.utils", os.path.join(root, "utils"))
        os.environ["TAU2_DATA_DIR"] = sources
        for part in ("tau2.utils.utils", "tau2.utils.pydantic_utils"):
            utils.__dict__.update(vars(importlib.import_module(part)))
        utils.dump_file = utils.load_file = None
        sys.modules["loguru"].logger.remove()
        toolkit = importlib.import_module(f"tau2.domains.{domain}.tools")
        self.kit = toolkit.AirlineTools if domain == "airline" else toolkit.RetailTools
        model = importlib.import_module(f"tau2.domains.{domain}.data_model")
        self.model = model.FlightDB if domain == "airline" else model.RetailDB

    def reset(self, db):
        data = read(db)
        for user, record in data["users"].items():
            record.setdefault("user_id", user)
        self.tools = self.kit(self.model.model_validate(data))

    def call(self, name, arguments):
        try:
            answer = self.tools.use_tool(tool_name=name, **arguments)
        except Exception as error:
            answer = f"Error: {error}"
        return answer if isinstance(answer, str) else json.dumps(plain(answer))


def read(db, texts={}):
    if db not in texts:
        with open(db) as file:
            texts[db] = file.read()
    return json.loads(texts[db])


def plain(value):
    """As Environment.to_json_str."""
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value.model_dump() if hasattr(value, "model_dump") else value


bench = FirstRelease() if release == "tau1" else Successor()
for line in sys.stdin:
    call = json.loads(line)
    if "reset" in call:
        bench.reset(call["reset"])
    else:
        print(json.dumps(bench.call(call["name"], call["arguments"])))
