#!/usr/bin/env python3
"""Collects public entailment pairs for teach.py; README.md says where they are from and under which terms.

    python public.py CHECKOUTS SNLI public.jsonl.gz

CHECKOUTS has a folder `owner+name` for each repository, SNLI the lines of SNLI that are used.
"""

import csv
import gzip
import json
import pathlib
import random
import sys

LABELS = {
    "entailment": 1, "entailed": 1, "supports": 1, "fully attributable": 1,
    "neutral": 0, "contradiction": 0, "not_entailment": 0, "not-entailed": 0, "refutes": 0, "not fully attributable": 0, "generic": 0,
    "e": 1, "n": 0, "c": 0, "5": 1, "4": 1, "2": 0, "1": 0,
}
EVIDENCE_MAX = 900


class Pairs(dict):
    def take(self, premise, hypothesis, label, source="other"):
        premise, hypothesis, label = premise.strip(), hypothesis.strip(), LABELS.get(str(label).strip().lower())
        if premise and hypothesis and len(premise) <= EVIDENCE_MAX and label is not None:
            self.setdefault((premise, hypothesis), (label, source))


def main(checkouts, snli, out):
    rng, pairs = random.Random(1), Pairs()
    text = lambda repo, path: (pathlib.Path(checkouts) / repo / path).read_text("utf-8-sig", "replace")
    lines = lambda repo, path: [line for line in text(repo, path).splitlines() if line.strip()]
    table = lambda repo, path: [line.split("\t") for line in lines(repo, path)[1:]]
    records = lambda repo, path: [json.loads(line) for line in lines(repo, path)]
    for file in sorted(pathlib.Path(snli).glob("*.jsonl")):
        for row in map(json.loads, file.read_text().splitlines()):
            pairs.take(row["sentence1"], row["sentence2"], row["gold_label"], "snli")
    ling = "Alicia-Parrish+ling_in_loop"
    for folder, train, check in (("1_Baseline_protocol", "baseline", "base"), ("2_Ling_on_side_protocol", "LotS", "LotS"), ("3_Ling_in_loop_protocol", "LitL", "LitL")):
        for number in range(1, 6):
            for file in (f"train_round{number}_{train}", f"val_round{number}_{check}"):
                for row in records(ling, f"NLI_data/{folder}/{file}.jsonl"):
                    pairs.take(row["premise"], row["hypothesis"], row["label"])
    for row in records(ling, "tasks/raw_data/mnli/data/mnli/val.jsonl"):
        pairs.take(row["premise"], row["hypothesis"], row["label"])
    for file in ("adversarial_train_15k", "conj_dev"):
        for row in table("swarnaHub+ConjNLI", f"data/NLI/{file}.tsv"):
            pairs.take(*row[:3]) if len(row) >= 3 else None
    for row in table("verypluming+MED", "MED.tsv"):
        pairs.take(row[8], row[9], row[15])
    for file in ("and", "or"):
        for row in table("verypluming+HELP", f"output_en/leskexppmb_{file}.tsv"):
            pairs.take(row[8], row[9], row[4]) if len(row) >= 10 else None
    for file in ("pmonli", "nmonli_train", "nmonli_test"):
        for row in records("atticusg+MoNLI", f"{file}.jsonl"):
            pairs.take(row["sentence1"], row["sentence2"], row["gold_label"])
    for file in ("train", "dev", "test"):
        for row in table("acmi-lab+counterfactually-augmented-data", f"NLI/all_combined/{file}.tsv"):
            pairs.take(*row[:3]) if len(row) >= 3 else None
    for file in ("MNLI", "SNLI", "RTE"):
        for row in table("mosharafhossain+negation-and-nli", f"data/new_benchmarks/clean_data/{file}.txt"):
            pairs.take(*row[1:4])
    for file in ("dev/recast_factuality", "test/recast_factuality", "train/recast_megaveridicality", "train/recast_verbnet", "dev/recast_kg_relations"):
        rows = json.loads(text("decompositional-semantics-initiative+DNC", f"{file}_data.json"))
        random.Random(1).shuffle(rows)
        for row in rows[:9000]:
            pairs.take(row["context"].replace(" n't", "n't"), row["hypothesis"], row["label"])
    for file in ("v0.2/fever_symmetric_test", "v0.2/fever_symmetric_dev", "v0.1/fever_symmetric_full"):
        for row in records("TalSchuster+FeverSymmetric", f"symmetric_{file}.jsonl"):
            pairs.take(row.get("evidence") or row["evidence_sentence"], row["claim"], row.get("gold_label") or row["label"])
    for file in ("dev", "test"):
        for row in table("google+BEGIN-dataset", f"wow/begin_{file}_wow.tsv"):
            pairs.take(row[2], row[4], row[5]) if len(row) >= 6 else None
    for row in records("BIU-NLP+Breaking_NLI", "data/dataset.jsonl"):
        pairs.take(row["sentence1"], row["sentence2"], row["gold_label"])
    more(text, lines, records, pairs)
    # There, 1 is a contradiction; what is none need not follow.
    for kind in ("comparative", "simple_negation", "counting", "boolean_coordination", "equality_and_definite_description", "quantifier"):
        rows = [row for row in csv.DictReader(lines("felipessalvatore+CLCD", f"clcd_datasets/English/{kind}_train.csv")) if len(row["sentence1"]) < 220]
        rng.shuffle(rows)
        for row in [row for row in rows if row["label"] == "1"][:700]:
            pairs.take(row["sentence1"], row["sentence2"], "contradiction")
    with gzip.open(out, "wt") as file:
        for (premise, hypothesis), (label, source) in pairs.items():
            file.write(json.dumps({"p": premise, "h": hypothesis, "y": label, "from": source}) + "\n")
    print(len(pairs))


def more(text, lines, records, pairs):
    """Summaries and their edits, facts about records and sentences of Wikipedia."""
    for kind in ("ectsum", "news", "podcast", "qmsumm", "sales_call", "sales_email", "samsum", "scitldr"):
        for row in json.loads(text("salesforce+factualNLG", f"data/summedits/summedits_{kind}.json")):
            pairs.take(row["original_summary"], row["summary"], "entailment" if row["label"] else "neutral")
    for number in (1, 2):
        for row in json.loads(text("dataminr-ai+BUMP", f"data/task{number}_dataset.json")):
            pairs.take(row["reference_summary"], row["edited_summary"], "neutral")
    tables = {}
    for file in ("train", "dev", "test_alpha1", "test_alpha2", "test_alpha3"):
        for line in lines("infotabs+infotabs", f"data/maindata/infotabs_{file}.tsv")[1:]:
            _, table, claim, label = line.split("\t")
            if table not in tables:
                fields = json.loads(text("infotabs+infotabs", f"data/tables/json/{table}.json"))
                tables[table] = json.dumps({key: value[0] if len(value) == 1 else value for key, value in fields.items()}, ensure_ascii=False)
            pairs.take(tables[table], claim, label)
    for file in ("dev", "test"):
        for row in records("google-research+fool-me-twice", f"dataset/{file}.jsonl"):
            pairs.take(" ".join(part["text"] for part in row["gold_evidence"]), row["text"], row["label"])
        for row in records("ryokamoi+wice", f"code_and_resources/entailment_inputs/oracle_chunks/claim/{file}.jsonl"):
            pairs.take(" ".join(row["evidence"]), row["claim"], {"supported": "entailment"}.get(row["label"], "neutral"))
        for row in csv.DictReader(lines("sarrouti+HealthVer", f"data/healthver_{file}.csv")):
            pairs.take(row["evidence"], row["claim"], row["label"])
    for file in ("no_negation", "one_not_scoped", "one_scoped"):
        for row in csv.DictReader(lines("selenashe+ScoNe", f"scone_nli/train/{file}.csv")):
            pairs.take(row["sentence1"], row["sentence2"], row["gold_label"])


if __name__ == "__main__":
    main(*sys.argv[1:])
