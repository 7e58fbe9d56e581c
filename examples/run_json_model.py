"""Runs a model that minrisk.export.to_json wrote, in plain Python: neither minrisk nor NumPy is imported.

    minrisk export model.minrisk --to json --out model.json
    python examples/run_json_model.py model.json 5.1 3.5 1.4 0.2
    python examples/run_json_model.py model.json north 3.5 ""

The cells of a row follow the model, in the order of its columns. An empty one is missing.
It is written to be read, and translated to other languages, not to be fast. The schema is in docs/guide/export.md.
"""

import json
import math
import struct
import sys

FAR, FARTHEST = 1e200, 1e130  # to which differences, and coordinates of points, are cut
MISSING = math.nan


def numbers(columns, row):
    """The numbers that trees split: codes in place of categories, and what is known of each category behind them."""
    x, added = [MISSING if value is None else value for value in row], []
    for category in columns["categories"]:
        value, values = row[category["column"]], category["values"]
        known = value in values
        x[category["column"]] = float(values.index(value)) if known else MISSING
        added += category["added"][values.index(value) if known else -1]
    return [float(value) for value in x] + added


def is_written(value, cell):
    """Whether a text stands for a value of a category: a text, a number, or true or false."""
    if isinstance(value, str):
        return value == cell
    if isinstance(value, bool):
        return str(value).lower() == cell.lower()
    try:
        return float(cell) == value
    except ValueError:
        return False


def row_of(columns, cells):
    """A row from texts: the values of categories as the model has them, None for what is missing, else numbers."""
    values = {category["column"]: category["values"] for category in columns["categories"]}
    if len(cells) != columns["n_columns"]:
        sys.exit(f"The model has {columns['n_columns']} columns, got {len(cells)} cells: give one for each column.")
    truths, row = {"true": "1", "false": "0", "": "nan"}, []
    for j, cell in enumerate(cells):
        if j in values:
            row.append(next((value for value in values[j] if is_written(value, cell)), None))
            continue
        try:
            row.append(float(truths.get(cell.lower(), cell)))
        except ValueError:
            name = columns["names"][j] if columns["names"] else j
            sys.exit(f"Column {name!r} must hold a number, got {cell!r}: correct it, or leave the cell empty.")
    return row


def float32(number):
    """The nearest float32 number."""
    return struct.unpack("f", struct.pack("f", number))[0]


def linear(part, x):
    """Linear features of a row."""
    sums = [0.0] * len(part["weights"][0])
    for value, center, weights in zip(x, part["center"], part["weights"], strict=True):
        apart = value - center
        if not math.isnan(apart):
            apart = min(max(apart, -FAR), FAR)
            sums = [total + apart * weight for total, weight in zip(sums, weights, strict=True)]
    return [float32(total) for total in sums]


def add_smooth(part, x, scores):
    """Gaussian kernels around landmarks."""
    used = [j for j, scale in enumerate(part["scale"]) if scale != 0.0]
    z = [(x[j] - part["center"][j]) / part["scale"][j] for j in used]
    z = [0.0 if math.isnan(value) else value for value in z]
    for landmark, vector in zip(part["landmarks"], part["vectors"], strict=True):
        near = math.exp(-part["width"] * sum((value - landmark[j]) ** 2 for value, j in zip(z, used, strict=True)))
        add(scores, near, vector)


def add_tree(tree, x, scores):
    """The vector of the leaf that a row comes to."""
    node, left = 0, tree["left"]
    while left[node] != node:  # a missing value is not greater than anything, so it goes left
        node = left[node] + (x[tree["feature"][node]] > tree["threshold"][node])
    response = tree["response"][node] if "response" in tree else 1.0
    if "line" in tree and tree["line"]["slope"][node] != 0.0:
        line = tree["line"]
        apart = x[line["feature"][node]] - line["origin"][node]
        if not math.isnan(apart):
            response += min(max(line["slope"][node] * apart, -FAR), FAR)
    add(scores, response, tree["vectors"][tree["vector"][node]])


def add_similarities(part, x, scores):
    """Distances to training points, compared."""
    units = zip(x, part["center"], part["scale"], part["fill"], strict=True)
    z = [((fill if math.isnan(value) else value) - center) / scale for value, center, scale, fill in units]
    z = [min(max(value, -FARTHEST), FARTHEST) for value in z]
    distances = [sum((a - b) ** 2 for a, b in zip(z, anchor, strict=True)) for anchor in part["anchors"]]
    largest = (4.0 / 3.0) ** 0.25 / (16.0 / 3.0)  # of the response to two points, which is divided by it
    learners = zip(part["near"], part["far"], part["span"], part["real"], part["vectors"], strict=True)
    for near, far, span, real, vector in learners:
        if near is None:
            response = 1.0
        elif far is None:
            u = distances[near]
            response = (span - u) / (span + u) if real else 1.0 if u <= span else -1.0
        else:
            u, v = distances[near] * 4.0 / span, distances[far] * 4.0 / span
            r = 0.5 * (u + v) - 1.0
            response = (v - u) / (4.0 * largest * (4.0 + r * r)) if real else 1.0 if v >= u else -1.0
        add(scores, response, vector)


def add(scores, response, vector):
    """scores += response * vector."""
    for k, entry in enumerate(vector):
        scores[k] += response * entry


def decoded(code, bits):
    """Scores of classes from the scores of bits."""
    if code["decoding"] == "hamming":
        signs = [(bit > 0) - (bit < 0) for bit in bits]
        return [0.5 * (sum(w * s for w, s in zip(word, signs, strict=True)) - len(word)) for word in code["words"]]
    scores = []
    for word in code["words"]:
        terms = [-w * bit for w, bit in zip(word, bits, strict=True)]
        scores.append(-max(terms) - math.log(sum(math.exp(term - max(terms)) for term in terms)))
    return scores


def scores_of(model, row):
    """H(x)."""
    parts, x = model["scores"], numbers(model["input"], row)
    scores = list(parts["intercept"])
    if "smooth" in parts:
        add_smooth(parts["smooth"], x, scores)
    if "linear" in parts:
        x = x + linear(parts["linear"], x)
    for tree in parts.get("trees", []):
        add_tree(tree, x, scores)
    if "similarities" in parts:
        add_similarities(parts["similarities"], x, scores)
    return decoded(parts["output_code"], scores) if "output_code" in parts else scores


def probabilities_of(link, scores):
    """Probabilities of the classes."""
    logs = [score / link["temperature"] * (2.0 if link["name"].endswith("2") else 1.0) for score in scores]
    if link["name"].startswith("sigmoid"):
        logs = [min(h, 0.0) - math.log1p(math.exp(-abs(h))) for h in logs]
    elif link["name"] == "linear":
        logs = [math.log(min(max((1.0 + h) / 2.0, 1e-6), 1.0)) for h in logs]
    p = [math.exp(log - max(logs)) for log in logs]
    return [one / sum(p) for one in p]


def costs_of(model, row, p):
    """Expected cost of each decision."""
    costs, learnt = model["cost"], model["learnt_costs"]
    if learnt is not None:
        x, costs = numbers(model["input"], row), []
        for mean, trees in zip(learnt["means"], learnt["trees"], strict=True):
            of_class = list(mean)
            for tree in trees:
                add_tree(tree, x, of_class)
            costs.append([max(cost, 0.0) for cost in of_class])
    return [sum(p[j] * costs[j][k] for j in range(len(p))) for k in range(len(model["decisions"]))]


def decision_of(model, row):
    """The decision about a row: of the least expected cost, or of the largest score; of equals the first."""
    scores = scores_of(model, row)
    if model["cost"] is None and model["learnt_costs"] is None:
        return model["decisions"][scores.index(max(scores))]
    costs = costs_of(model, row, probabilities_of(model["link"], scores))
    return model["decisions"][costs.index(min(costs))]


def main():
    """Print the decision about the row on the command line."""
    path, *cells = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        model = json.load(file)
    print(decision_of(model, row_of(model["input"], cells)))


if __name__ == "__main__":
    main()
