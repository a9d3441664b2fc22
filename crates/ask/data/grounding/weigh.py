#!/usr/bin/env python3
"""Finds what the signs of grounding/signs.rs mean beside the score of the model; writes trees.txt.

    pip install numpy scikit-learn
    python weigh.py labelled.jsonl scores.json trees.txt

`labelled.jsonl` is what `cargo xtask eval grounding --pairs` writes, `scores.json` what `teach.py second` does: scores
by nets that have not seen the result in question, so that the trees do not trust a score more than it deserves.
"""

import json
import random
import re
import pathlib
import sys

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier

# Of the pairs that are not carried, so many have to be caught.
CAUGHT = 0.95
# How far a score counts.
SCORE_MAX = 4.0
SEEDS, TREES, RATE = 2, 250, 0.05
SIGNS = pathlib.Path(__file__).resolve().parents[2] / "src/grounding/signs.rs"


def order():
    """The signs as `signs` gives them: the trees know them by number."""
    text = SIGNS.read_text()
    start = text.index("    vec![")
    return re.findall(r"Kind::(\w+)", text[start : text.index("    ]", start)])


def grown(x, y):
    new = lambda seed: GradientBoostingClassifier(n_estimators=TREES, max_depth=2, learning_rate=RATE, subsample=0.6, max_features=0.3, min_samples_leaf=8, random_state=seed)
    return [new(seed).fit(x, y) for seed in range(SEEDS)]


def balance(models, x):
    return np.mean([model.decision_function(x) for model in models], 0)


def lines(models):
    """Three questions and four answers for each tree; a question nobody asks is answered with the left one."""
    for model in models:
        for tree in model.estimators_[:, 0]:
            t = tree.tree_
            is_leaf = lambda node: t.children_left[node] < 0
            ask = lambda node: (0, 1e9) if is_leaf(node) else (t.feature[node], t.threshold[node])
            below = lambda node: (node, node) if is_leaf(node) else (t.children_left[node], t.children_right[node])
            left, right = below(0)
            leaves = [*below(left), *below(right)]
            questions = [f"{feature} {limit:.6g}" for feature, limit in (ask(0), ask(left), ask(right))]
            yield " ".join(questions + [f"{RATE * t.value[leaf][0][0] / SEEDS:.5f}" for leaf in leaves])


def main(labelled, scores, out):
    # What was written is only for the nets: there the signs go with how it was written.
    rows = [row for row in map(json.loads, open(labelled)) if row["carried"] and row["from"] != "written"]
    found = json.load(open(scores))
    signs = order()
    x = np.array([[np.clip(found[row["id"]], -SCORE_MAX, SCORE_MAX), *(row["signs"][sign] for sign in signs)] for row in rows])
    y, source = np.array([row["supported"] for row in rows]), np.array([row["from"] for row in rows])
    quoted = np.array([row["quoted"] for row in rows])
    groups = sorted({row["group"] for row in rows})
    random.Random(5).shuffle(groups)
    fold = np.array([{group: at % 5 for at, group in enumerate(groups)}[row["group"]] for row in rows])
    odds = np.zeros(len(rows))
    for part in range(5):
        odds[fold == part] = balance(grown(x[fold != part], y[fold != part]), x[fold == part])
    odds[quoted] = 99.0
    for enough in np.arange(-0.6, 1.3, 0.1):
        print(f"{enough:5.2f}", *(f"{s} {np.mean(odds[(source == s) & y] > enough):.3f} of {sum((source == s) & y)} kept, {np.sum(odds[(source == s) & ~y] > enough)} of {sum((source == s) & ~y)} passed;" for s in ("tune", "a", "b", "c")))
    models = grown(x, y)
    prior = float(np.mean([np.log(model.init_.class_prior_[1] / model.init_.class_prior_[0]) for model in models]))
    print(f"subtract {prior:.3f} from what is enough")
    header = "# What is asked (0 is the score, 1 and so on are the signs) and up to where the answer is the left one, three times;\n# then what the four answers add. Made by weigh.py.\n"
    pathlib.Path(out).write_text(header + "\n".join(lines(models)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
