"""Rows of the table: what is asked of the harness and of the peers, and the goals of one H100 that they are held against."""

from dataclasses import asdict, dataclass

# HalfCheetah's rows, and MBPO's ensemble of 7 networks of 4 x 200, 5 of them elites (Shape of native/cuda/bench/work.h).
MEMBERS = 7

TORCH = ("torch-eager", "torch-compile", "torch-graphs")
ALL = (*TORCH, "jax")


@dataclass(frozen=True)
class EnsembleCase:
    id: str
    kind: str
    precision: str
    rows: int
    members: int = 5
    horizon: int = 16
    policy: str = "linear"
    disagreement: int = 0
    # One branch in so many is brought to the host; 0: none, the rows are consumed where they are.
    deliver: int = 0
    peers: tuple = ()
    # Peers also try the compiler's autotuned products.
    autotune: int = 0
    floor: float = None
    goal: float = None
    unit: str = "transitions/s"

    def parameters(self):
        """Of `prepare`, for all sides."""
        keys = ("kind", "precision", "rows", "members", "horizon", "policy", "disagreement")
        return {key: getattr(self, key) for key in keys}

    def units_a_run(self):
        return self.rows * (1 if self.kind == "step" else self.horizon)


M, K = 1_000_000, 1_000

ENSEMBLE = [
    EnsembleCase("ts1.tf32.1M", "rollout", "tf32", M, peers=(*ALL, "mbrl"), autotune=1, floor=1.5e8, goal=5e8),
    EnsembleCase("ts1.tf32.100k", "rollout", "tf32", 100 * K, peers=ALL, autotune=1),
    EnsembleCase("ts1.tf32.8k", "rollout", "tf32", 8 * K, peers=ALL),
    EnsembleCase("ts1.tf32.1k", "rollout", "tf32", K, peers=ALL),
    EnsembleCase("ts1.fp32.1M", "rollout", "fp32", M, peers=("torch-graphs", "mbrl")),
    EnsembleCase("ts1.fp32.1k", "rollout", "fp32", K),
    EnsembleCase("policy.tf32.1M", "rollout", "tf32", M, policy="mlp", peers=ALL),
    EnsembleCase("all7.tf32.1M", "rollout", "tf32", M, members=7, disagreement=1),
    EnsembleCase("all7.tf32.100k", "rollout", "tf32", 100 * K, members=7, disagreement=1, peers=ALL),
    EnsembleCase("step.tf32.1M", "step", "tf32", M),
    EnsembleCase("step.tf32.8k", "step", "tf32", 8 * K),
    EnsembleCase("delivered.tf32.1M", "rollout", "tf32", M, horizon=4, deliver=1, floor=5e7, goal=1.5e8),
    EnsembleCase("delivered.tf32.1M.tenth", "rollout", "tf32", M, horizon=4, deliver=10),
]


def tiny(case):
    """The same code paths at a size that the emulator, or a CPU, runs in moments; no goal is held against it."""
    changed = {**asdict(case), "floor": None, "goal": None}
    changed.update(rows=40, horizon=2 if case.kind == "rollout" else case.horizon, autotune=0)
    return EnsembleCase(**changed)
