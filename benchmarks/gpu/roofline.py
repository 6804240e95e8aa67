"""What a row of the table needs at least: floating-point operations and bytes, and what cards are said to do."""

# Dense TFLOP/s and HBM bytes/s by the vendors' data sheets; the first name that is part of the card's wins.
CARDS = [
    ("GH200", {"bf16": 989e12, "tf32": 495e12, "fp32": 67e12, "bytes": 4.0e12}),
    ("H200", {"bf16": 989e12, "tf32": 495e12, "fp32": 67e12, "bytes": 4.8e12}),
    ("H100 PCIe", {"bf16": 756e12, "tf32": 378e12, "fp32": 51e12, "bytes": 2.0e12}),
    ("H100 NVL", {"bf16": 835e12, "tf32": 417e12, "fp32": 60e12, "bytes": 3.9e12}),
    ("H100", {"bf16": 989e12, "tf32": 495e12, "fp32": 67e12, "bytes": 3.35e12}),
    ("A100-SXM4-80GB", {"bf16": 312e12, "tf32": 156e12, "fp32": 19.5e12, "bytes": 2.04e12}),
    ("A100", {"bf16": 312e12, "tf32": 156e12, "fp32": 19.5e12, "bytes": 1.56e12}),
    ("B200", {"bf16": 2250e12, "tf32": 1125e12, "fp32": 75e12, "bytes": 8.0e12}),
]


def card_peaks(name):
    """Of a card by its name; None for one that is not listed."""
    return next((peaks for part, peaks in CARDS if part.lower() in name.lower()), None)


def network_flop(sizes):
    """Operations of one row through fully connected layers of these widths."""
    return sum(2 * a * b for a, b in zip(sizes, sizes[1:]))


def ensemble_flop(shape, case):
    """Operations of one transition: one member, or all where they are asked for disagreement, and the policy if one acts."""
    inputs, outputs = shape["obs"] + shape["action"], 2 * (shape["obs"] + 1)
    member = network_flop([inputs, *[shape["hidden"]] * shape["layers"], outputs])
    policy_layers = {"mlp": shape["policyLayers"], "linear": 0}.get(case.policy)
    policy = (
        0
        if case.kind == "step"
        else network_flop([shape["obs"], *[shape["policyHidden"]] * policy_layers, 2 * shape["action"]])
    )
    return member * (case.members if case.disagreement else 1) + policy


def row_bytes(shape):
    """Of one transition in fp32: observation, action, next observation, reward."""
    return 4 * (shape["obs"] + shape["action"] + shape["obs"] + 1)


def ensemble_bytes(shape, case):
    """Bytes of device memory one transition must move: fp32 rows as they come and go, weights not counted."""
    if case.kind == "step":
        return row_bytes(shape)
    return 4 * shape["obs"] / case.horizon + (row_bytes(shape) / case.deliver if case.deliver else 0)
