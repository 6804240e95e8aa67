# What Minari and pandas read of an export.

import json, os, minari, pandas
dataset = minari.load_dataset("reverie/toy-v0")
assert dataset.observation_space.shape == (3,) and str(dataset.observation_space.dtype) == "float32"
episodes = [{
    "observations": e.observations.tolist(), "actions": e.actions.tolist(), "rewards": e.rewards.tolist(),
    "ends": [[bool(a), bool(b)] for a, b in zip(e.terminations, e.truncations)],
} for e in dataset.iterate_episodes()]
frame = pandas.read_parquet(os.path.join(os.environ["MINARI_DATASETS_PATH"], "rows.parquet"))
print(json.dumps({
    "steps": int(dataset.total_steps), "low": [str(x) for x in dataset.observation_space.low], "episodes": episodes,
    "pandas": {"rows": len(frame), "next_obs": frame["next_obs"][5].tolist(), 
               "sources": frame["source"].unique().tolist()},
}))
