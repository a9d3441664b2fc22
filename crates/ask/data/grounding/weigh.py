#!/usr/bin/env python3
"""Finds what the signs of grounding/signs.rs weigh beside the score of the model; prints the table of weights.rs.

    pip install numpy scikit-learn
    python weigh.py labelled.jsonl scores.json

`labelled.jsonl` is what `cargo xtask eval grounding --pairs` writes, `scores.json` what `train.py --folds` does: scores
by models that have not seen the result in question, so that the weights do not trust a score more than it deserves.
"""

import json
import random
import sys

import numpy as np
from sklearn.linear_model import LogisticRegression

# Of the pairs that are not carried, so many have to be caught.
CAUGHT = 0.95
# How far a score may move the balance.
SCORE_MAX = 4.0


def main(labelled, scores):
    rows = [json.loads(line) for line in open(labelled)]
    found = next(scores for kind, scores in json.load(open(scores)).items() if kind.startswith("grouped"))
    rows = [row for row in rows if row["carried"]]
    signs = list(rows[0]["signs"])
    x = np.array([[np.clip(found[row["id"]], -SCORE_MAX, SCORE_MAX), *(row["signs"][sign] for sign in signs)] for row in rows])
    y = np.array([row["supported"] for row in rows])
    source = np.array([row["from"] for row in rows])
    groups = sorted({row["group"] for row in rows})
    random.Random(5).shuffle(groups)
    fold = np.array([{group: at % 5 for at, group in enumerate(groups)}[row["group"]] for row in rows])
    fit = lambda chosen: LogisticRegression(C=0.3, max_iter=5000).fit(x[chosen], y[chosen])
    for name, key in (("grouped", fold), ("left out", source)):
        odds = np.zeros(len(rows))
        for part in sorted(set(key)):
            odds[key == part] = fit(key != part).decision_function(x[key == part])
        for enough in (0.0, 0.2, 0.4, 0.6):
            print(name, enough, *(f"{s} {np.mean(odds[(source == s) & y] > enough):.3f}/{np.mean(odds[(source == s) & ~y] <= enough):.3f}" for s in ("tune", "a", "b")))
    model = fit(y >= 0)
    print(f"const SCORE: f32 = {model.coef_[0][0]:.2f};\nconst BIAS: f32 = {model.intercept_[0]:.2f};")
    for sign, weight in zip(signs, model.coef_[0][1:]):
        print(f"        Kind::{sign} => {weight:.2f},")


if __name__ == "__main__":
    main(*sys.argv[1:])
