"""The table a reader sees, and the result files in the shape of benchmarks/results."""

import datetime
import json
import os


def short(value):
    """Three digits and a unit prefix: 1.23 G."""
    for size, unit in ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def told(values):
    """Names and figures of a dictionary, and of those within it, in a line."""
    if isinstance(values, dict):
        return ", ".join(f"{key} ({told(value)})" if isinstance(value, dict) else f"{key} {told(value)}" for key, value in values.items())
    return short(values) if isinstance(values, (int, float)) else str(values)


def _verdict(row):
    if row.get("goal") is None or row.get("low") is None:
        return ""
    if row["low"] >= row["goal"]:
        return f"goal {short(row['goal'])} met"
    if row["low"] >= row["floor"]:
        return f"below goal {short(row['goal'])}"
    return f"BELOW FLOOR {short(row['floor'])}"


HEADINGS = ("row", "side", "rate", "95 % interval", "unit", "us/step", "caller", "ours is", "goal")


def _cells(row):
    if "failure" in row:
        return (row["case"], row["side"], "-", "", row["failure"][:70], *[""] * (len(HEADINGS) - 5))
    ratio = row.get("oursOverThis")
    times = f"{ratio['value']:.2f}x ({ratio['low']:.2f} - {ratio['high']:.2f})" if ratio else ""
    steps = [f"{row[key]:.3g}" if key in row else "" for key in ("deviceMicrosecondsAStep", "callerMicrosecondsAStep")]
    between = f"{short(row['low'])} - {short(row['high'])}"
    return (row["case"], row["side"], short(row["value"]), between, row["unit"], *steps, times, _verdict(row))


def table(rows):
    lines = [HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADINGS))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def result(id, headline, unit, baseline, rows, context):
    """One result file's content; `headline` is an interval, or None where the row that the id stands for was not measured."""
    headline = headline or {"value": None, "low": None, "high": None, "n": 0}
    return {
        "id": id,
        **{key: headline[key] for key in ("value", "low", "high")},
        "unit": unit,
        "n": headline["n"],
        "baseline": baseline,
        "machine": context["machine"],
        "command": context["command"],
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "versions": context["versions"],
        "raw": {"rows": rows, **context["raw"]},
    }


def write_json(folder, name, content):
    path = os.path.join(folder, name)
    with open(f"{path}.new", "w") as file:
        json.dump(content, file, indent=2)
        file.write("\n")
    os.replace(f"{path}.new", path)
    return path
