# Every MJCF file that packages of this Python bring: its sizes, and where it stands after two steps, as JSON on stdout. Where
# MuJoCo refuses a file (parts of models), its message.

import importlib.util
import json
import os
import sys

import mujoco
import numpy

FOLDERS = {
    "gymnasium": "envs/mujoco/assets",
    "gymnasium_robotics": "envs/assets",
    "dm_control": "",
    "robosuite": "models/assets",
    "metaworld": "assets",
}


def tried(file):
    try:
        model = mujoco.MjModel.from_xml_path(file)
    except Exception as error:
        return {"file": file, "error": str(error)}
    data = mujoco.MjData(model)
    data.qvel[:] = 0.01 * (numpy.arange(model.nv) % 7 - 3)
    mujoco.mj_step(model, data, 2)
    return {"file": file, "sizes": [model.nq, model.nv, model.nu], "qpos": [float(x) for x in data.qpos]}


def models(folder):
    for place, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            if name.endswith(".xml"):
                yield tried(os.path.join(place, name))


found = {}
for package, inner in FOLDERS.items():
    spec = importlib.util.find_spec(package)
    if spec is not None:
        folder = os.path.realpath(os.path.join(os.path.dirname(spec.origin), inner))
        found[package] = {"folder": folder, "models": list(models(folder))}
json.dump(found, sys.stdout)
