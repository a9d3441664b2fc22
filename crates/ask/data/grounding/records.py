"""Pairs about results of tools, made by rule: which record of a list has what, and which of its fields says so.

A schema is a list of fields: key, values, what is said of a record that has one ({n} is its name, {v} the value). A claim
that does not follow has the value of another record, of another field of the same sort, or the contrary.
"""

import json
import random

from pairs import OPINIONS, PEOPLE, REASONS, SYSTEMS, THINGS, capital, sentence

FIRST = [name.split()[0] for name in PEOPLE]
CITIES = "Lyon Bern Turku Cork Faro Brno Oslo Gdansk Trieste Leeds Malmo Porto Graz Ghent Split Riga Tartu Basel Nantes Kiel".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()
NOUNS = THINGS + [f"{system} settings" for system in SYSTEMS[:12]]


def file(r):
    return r.choice(["src", "docs", "tests", "lib", "cmd", "pkg"]) + "/" + r.choice(["", "net/", "auth/", "ui/"]) + r.choice("parser lexer pool retry index main login cache export session".split()) + r.choice([".rs", ".py", ".go", ".ts", ".md"])


def day(r):
    return f"{r.randrange(2019, 2028)}-{r.randrange(1, 13):02}-{r.randrange(1, 29):02}"


def spelled(r, date):
    year, month, number = date[:4], MONTHS[int(date[5:7]) - 1], int(date[8:10])
    # Dates of a claim are mostly written as in the evidence before the model sees them.
    return r.choice([date] * 6 + [f"{number} {month} {year}", f"{month} {number}, {year}"])


def clock(r):
    return f"{r.randrange(0, 24):02}:{r.choice((0, 5, 10, 15, 20, 30, 40, 45, 50)):02}"


def handle(r):
    return r.choice(FIRST).lower() + r.choice(["", ".", "-", "_"]) + r.choice("abcdefkmst")


person = lambda r: r.choice(PEOPLE)
first = lambda r: r.choice(FIRST)
city = lambda r: r.choice(CITIES)
some = lambda low, high: lambda r: r.randrange(low, high)
one_of = lambda *values: lambda r: r.choice(values)
version = lambda r: f"{r.randrange(0, 9)}.{r.randrange(0, 20)}.{r.randrange(0, 12)}"
title = lambda r: capital(r.choice("fix add update remove rename document speed-up test revert move check order paint replace review".split()) + " " + r.choice(NOUNS))
# sort, values, says; a bool has what is said of true and of false
P, N, D, T, E, B, X = "person number date time choice bool text".split()
SCHEMAS = {
    "pull request": (("number", lambda r: f"#{r.randrange(10, 3000)}"), [
        ("author", P, person, ["{v} opened {n}", "{n} was opened by {v}", "{v} is the author of {n}", "{n} is by {v}"]),
        ("reviewer", P, person, ["{v} reviews {n}", "{n} is to be reviewed by {v}", "{v} is the reviewer of {n}"]),
        ("assignee", P, person, ["{n} is assigned to {v}", "{v} is the assignee of {n}"]),
        ("additions", N, some(1, 900), ["{n} adds {v} lines", "{v} lines are added by {n}"]),
        ("deletions", N, some(1, 900), ["{n} deletes {v} lines", "{n} removes {v} lines"]),
        ("comments", N, some(1, 40), ["{n} has {v} comments", "There are {v} comments on {n}"]),
        ("draft", B, None, (["{n} is a draft", "{n} is still a draft"], ["{n} is not a draft", "{n} is no draft any more"])),
        ("merged", B, None, (["{n} has been merged", "{n} is merged"], ["{n} has not been merged", "{n} is unmerged", "{n} is not merged yet"])),
        ("approved", B, None, (["{n} is approved", "{n} has been approved"], ["{n} lacks approval", "{n} has not been approved"])),
        ("base", X, one_of("main", "develop", "release/2.x"), ["{n} goes into {v}", "{n} is against {v}"]),
        ("head", X, one_of("fix-login", "csv-export", "faster-index", "new-parser"), ["{n} comes from the branch {v}"])]),
    "commit": (("hash", lambda r: f"{r.randrange(16**7):07x}"), [
        ("author", P, person, ["{v} made {n}", "{n} was made by {v}", "{v} is the author of {n}"]),
        ("committer", P, person, ["{n} was committed by {v}"]),
        ("date", D, day, ["{n} is of {v}", "{n} was made on {v}", "{n} dates from {v}"]),
        ("subject", X, title, ["{n} says \"{v}\"", "The subject of {n} is \"{v}\""]),
        ("files", N, some(1, 60), ["{n} touches {v} files", "{v} files are changed in {n}"])]),
    "task": (("id", lambda r: f"{r.choice(['T', 'OPS', 'WEB', 'K'])}-{r.randrange(1, 400)}"), [
        ("owner", P, first, ["{v} owns {n}", "{n} belongs to {v}", "{v} is responsible for {n}"]),
        ("reporter", P, first, ["{v} reported {n}", "{n} was reported by {v}"]),
        ("due", D, day, ["{n} is due on {v}", "{n} has to be done by {v}", "The deadline of {n} is {v}"]),
        ("created", D, day, ["{n} was created on {v}", "{n} dates from {v}"]),
        ("status", E, one_of("open", "blocked", "in review", "on hold"), ["{n} is {v}", "The status of {n} is {v}"]),
        ("priority", E, one_of("high", "low", "medium", "urgent"), ["{n} has {v} priority", "The priority of {n} is {v}"]),
        ("done", B, None, (["{n} is done", "{n} has been completed", "{n} is finished"], ["{n} is not done", "{n} is still open", "{n} remains to be done", "{n} is unfinished"])),
        ("points", N, some(1, 14), ["{n} is worth {v} points", "{n} has {v} points"])]),
    "host": (("host", lambda r: f"{r.choice('web db cache build mail edge'.split())}-{r.randrange(1, 20):02}"), [
        ("cpu_cores", N, some(1, 65), ["{n} has {v} CPU cores", "There are {v} cores in {n}"]),
        ("memory_gb", N, some(2, 500), ["{n} has {v} GB of memory"]),
        ("disk_gb", N, some(20, 4000), ["{n} has a disk of {v} GB"]),
        ("uptime_days", N, some(1, 400), ["{n} has been up for {v} days", "{n} has run for {v} days"]),
        ("region", X, city, ["{n} is in {v}", "{n} stands in {v}"]),
        ("online", B, None, (["{n} is online", "{n} can be reached"], ["{n} is offline", "{n} is not online", "{n} cannot be reached"])),
        ("status", E, one_of("healthy", "degraded", "down", "draining"), ["{n} is {v}", "The state of {n} is {v}"]),
        ("admin", P, handle, ["{v} administers {n}", "{n} is administered by {v}"])]),
    "package": (("name", lambda r: r.choice("serde httpx yamlfast tinyproxy leftpad quill zlib openssl pydantic lodash".split()) + r.choice(["", "-rs", "-js", "2"])), [
        ("installed", X, version, ["{v} of {n} is installed", "The installed version of {n} is {v}"]),
        ("latest", X, version, ["The latest version of {n} is {v}", "{v} is the newest {n}"]),
        ("license", E, one_of("MIT", "Apache-2.0", "GPL-3.0", "BSD-3-Clause"), ["{n} is under {v}", "{n} has the {v} license", "The license of {n} is {v}"]),
        ("downloads", N, some(100, 900000), ["{n} was downloaded {v} times", "{n} has {v} downloads"]),
        ("deprecated", B, None, (["{n} is deprecated"], ["{n} is not deprecated"])),
        ("severity", E, one_of("critical", "moderate", "low", "high"), ["{n} has a vulnerability of {v} severity", "The severity for {n} is {v}"]),
        ("maintainer", P, handle, ["{v} maintains {n}", "{n} is maintained by {v}"])]),
    "invoice": (("id", lambda r: f"INV-{r.randrange(100, 9999)}"), [
        ("customer", P, lambda r: r.choice(CITIES) + r.choice([" Foods", " Dental", " Labs", " Freight"]), ["{n} is for {v}", "{v} is the customer of {n}", "{v} was billed with {n}"]),
        ("supplier", P, lambda r: r.choice(CITIES) + r.choice([" Metals", " Paper", " Tools"]), ["{n} is from {v}", "{v} issued {n}", "{v} is the supplier of {n}"]),
        ("net", N, some(100, 9000), ["{n} is {v} net", "The net amount of {n} is {v}"]),
        ("total", N, some(100, 9000), ["{n} comes to {v} in total", "The total of {n} is {v}"]),
        ("paid", B, None, (["{n} has been paid", "{n} is paid"], ["{n} is unpaid", "{n} has not been paid", "{n} is still to be paid"])),
        ("due", D, day, ["{n} is due on {v}", "{n} has to be paid by {v}"]),
        ("issued", D, day, ["{n} was issued on {v}", "{n} is of {v}"])]),
    "day": (("date", day), [
        ("max_c", N, some(-5, 35), ["The maximum on {n} is {v} °C", "On {n} it gets as warm as {v} °C"]),
        ("min_c", N, some(-25, 20), ["The minimum on {n} is {v} °C", "On {n} it cools down to {v} °C"]),
        ("sky", E, one_of("clear", "rain", "cloudy", "snow", "fog"), ["{v} is expected on {n}", "On {n} the sky: {v}"]),
        ("precip_mm", N, some(0, 60), ["{v} mm of precipitation are forecast for {n}"]),
        ("wind_kmh", N, some(3, 90), ["The wind reaches {v} km/h on {n}"])]),
    "flight": (("number", lambda r: f"{r.choice('AB KL DY LH OS'.split())} {r.randrange(100, 999)}"), [
        ("from", P, city, ["{n} leaves from {v}", "{n} starts in {v}", "{n} comes from {v}"]),
        ("to", P, city, ["{n} goes to {v}", "{n} is bound for {v}", "The destination of {n} is {v}"]),
        ("departs", T, clock, ["{n} departs at {v}", "{n} leaves at {v}"]),
        ("arrives", T, clock, ["{n} arrives at {v}", "{n} gets in at {v}"]),
        ("gate", E, one_of("A3", "B12", "C7", "D1"), ["{n} uses gate {v}", "The gate of {n} is {v}"]),
        ("status", E, one_of("on time", "delayed", "cancelled", "boarding"), ["{n} is {v}"]),
        ("seats_left", N, some(1, 60), ["{v} seats are left on {n}"])]),
    "meeting": (("title", lambda r: capital(r.choice(THINGS)) + r.choice([" review", " meeting", " planning"])), [
        ("organizer", P, person, ["{v} organises the {n}", "The {n} is organised by {v}"]),
        ("chair", P, person, ["{v} chairs the {n}", "The {n} is chaired by {v}"]),
        ("minutes_by", P, person, ["{v} takes the minutes of the {n}"]),
        ("room", E, one_of("2.01", "4.12", "B-204", "Aula"), ["The {n} is in room {v}", "The {n} takes place in {v}"]),
        ("start", T, clock, ["The {n} starts at {v}", "The {n} begins at {v}"]),
        ("end", T, clock, ["The {n} ends at {v}", "The {n} goes on until {v}"]),
        ("day", E, one_of(*DAYS), ["The {n} is on {v}", "On {v} there is the {n}"]),
        ("cancelled", B, None, (["The {n} is cancelled", "The {n} has been called off"], ["The {n} is not cancelled"])),
        ("attendees", N, some(2, 30), ["{v} people attend the {n}", "The {n} has {v} attendees"])]),
    "job": (("name", lambda r: r.choice("lint unit e2e docs publish build smoke deploy nightly bench".split())), [
        ("status", E, one_of("skipped", "cancelled", "queued", "running"), ["{n} was {v}", "The status of {n} is {v}", "The {n} job is {v}"]),
        ("passed", B, None, (["{n} passed", "{n} succeeded", "The {n} job was successful"], ["{n} failed", "{n} did not pass", "The {n} job was unsuccessful"])),
        ("minutes", N, some(1, 90), ["{n} took {v} minutes", "It took {v} minutes to run {n}"]),
        ("retries", N, some(1, 6), ["{n} was retried {v} times"]),
        ("triggered_by", P, handle, ["{v} triggered {n}", "{n} was triggered by {v}"])]),
    "file": (("path", file), [
        ("size_bytes", N, some(10, 90000), ["{n} has {v} bytes", "The size of {n} is {v} bytes"]),
        ("lines", N, some(5, 3000), ["{n} has {v} lines", "There are {v} lines in {n}"]),
        ("modified", D, day, ["{n} was modified on {v}", "{n} was last changed on {v}"]),
        ("created", D, day, ["{n} was created on {v}", "{n} has existed since {v}"]),
        ("owner", P, handle, ["{v} owns {n}", "{n} belongs to {v}"]),
        ("last_author", P, person, ["{v} was the last to change {n}"]),
        ("binary", B, None, (["{n} is binary", "{n} is a binary file"], ["{n} is not binary", "{n} is no binary file"])),
        ("staged", B, None, (["{n} is staged"], ["{n} is not staged", "{n} is unstaged"]))]),
    "message": (("subject", lambda r: r.choice(["Re: ", "", "Fwd: "]) + capital(r.choice(NOUNS)) + r.choice([" dates", "", " question"])), [
        ("from", P, person, ["{v} wrote \"{n}\"", "\"{n}\" was sent by {v}", "{v} sent \"{n}\""]),
        ("to", P, person, ["{v} received \"{n}\"", "\"{n}\" was sent to {v}", "{v} is the recipient of \"{n}\""]),
        ("date", D, day, ["\"{n}\" is of {v}", "\"{n}\" was sent on {v}"]),
        ("unread", B, None, (["\"{n}\" is unread", "\"{n}\" has not been read"], ["\"{n}\" has been read", "\"{n}\" is not unread"])),
        ("attachments", N, some(1, 9), ["\"{n}\" has {v} attachments"])]),
    "product": (("name", lambda r: r.choice("black grey red oak steel".split()) + " " + r.choice("tee mug chair lamp kettle desk".split())), [
        ("price_eur", N, some(3, 900), ["The {n} costs {v} euros", "The price of the {n} is {v} EUR"]),
        ("stock", N, some(1, 300), ["{v} of the {n} are in stock", "There are {v} of the {n} left"]),
        ("reorder_at", N, some(1, 300), ["The {n} is reordered at {v}"]),
        ("rating", N, lambda r: r.randrange(10, 50) / 10, ["The {n} is rated {v}"]),
        ("reviews", N, some(3, 2000), ["The {n} has {v} reviews"]),
        ("available", B, None, (["The {n} is available", "The {n} can be ordered"], ["The {n} is not available", "The {n} is unavailable", "The {n} cannot be ordered"])),
        ("supplier", P, person, ["{v} supplies the {n}", "The {n} comes from {v}"])]),
    "player": (("name", person), [
        ("team", X, city, ["{n} plays for {v}", "{n} is in the team of {v}"]),
        ("coach", P, person, ["{v} coaches {n}", "{n} is coached by {v}"]),
        ("goals", N, some(1, 40), ["{n} scored {v} goals", "{v} goals were scored by {n}"]),
        ("assists", N, some(1, 40), ["{n} has {v} assists"]),
        ("injured", B, None, (["{n} is injured"], ["{n} is not injured", "{n} is fit"])),
        ("mentor", P, person, ["{v} is the mentor of {n}", "{n} is mentored by {v}"])]),
}
# (key, what a record says of another, the same from the other side)
LINKS = [
    ("blocked_by", "{a} is blocked by {b}", "{b} blocks {a}"), ("blocks", "{a} blocks {b}", "{b} is blocked by {a}"),
    ("depends_on", "{a} depends on {b}", "{b} is needed by {a}"), ("parent", "{b} is the parent of {a}", "{a} is a child of {b}"),
    ("replaces", "{a} replaces {b}", "{b} was replaced by {a}"), ("superseded_by", "{a} was superseded by {b}", "{b} supersedes {a}"),
    ("duplicate_of", "{a} is a duplicate of {b}", "{a} repeats {b}"), ("follows", "{a} follows {b}", "{b} comes before {a}"),
    ("mentors", "{a} mentors {b}", "{b} is mentored by {a}"), ("reports_to", "{a} reports to {b}", "{b} is the boss of {a}"),
    ("manages", "{a} manages {b}", "{b} is managed by {a}"), ("calls", "{a} calls {b}", "{b} is called by {a}"),
    ("works_for", "{a} works for {b}", "{b} employs {a}"), ("owns", "{a} owns {b}", "{b} belongs to {a}"),
]


def dump(rng, fields, bare=0.5):
    """As somebody would quote it: tight or spaced, with or without its braces."""
    style = rng.randrange(4)
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":") if style < 2 else (", ", ": "), indent=2 if style == 3 and rng.random() < 0.4 else None)
    return text.strip("{}").strip() if isinstance(fields, dict) and rng.random() < bare else text


def amount(rng, value):
    words = "zero one two three four five six seven eight nine ten eleven twelve".split()
    if isinstance(value, int) and 2 <= value <= 12 and rng.random() < 0.15:
        return words[value]
    return f"{value:,}" if isinstance(value, int) and value > 999 and rng.random() < 0.2 else str(value)


def say(rng, field, name, value):
    key, sort, _, says = field
    if sort == B:
        return rng.choice(says[0 if value else 1]).format(n=name)
    shown = spelled(rng, value) if sort == D else amount(rng, value) if sort == N else value
    name = spelled(rng, name) if len(name) == 10 and name[4:5] == "-" else name
    return capital(rng.choice(says).format(n=name, v=shown))


def value_of(rng, field):
    return rng.random() < 0.5 if field[1] == B else field[2](rng)


def lists(rng):
    """Two to four records: a claim about one of them."""
    kind = rng.choice(list(SCHEMAS))
    (name_key, make_name), fields = SCHEMAS[kind]
    chosen = rng.sample(fields, min(len(fields), rng.choice((1, 2, 2, 3, 3, 4, 5))))
    items, names = [], set()
    for _ in range(rng.choice((1, 2, 2, 2, 3, 4))):
        name = make_name(rng)
        if name not in names:
            names.add(name)
            items.append({name_key: name, **{field[0]: value_of(rng, field) for field in chosen}})
    order = [name_key, *(field[0] for field in chosen)]
    rng.shuffle(order)
    items = [{key: item[key] for key in order} for item in items]
    item = rng.choice(items)
    good, bad = [], []
    for field in chosen:
        key, sort = field[0], field[1]
        good.append(say(rng, field, item[name_key], item[key]))
        others = [other[key] for other in items if other[key] != item[key]]
        others += [item[same[0]] for same in chosen if same[1] == sort and sort != B and item[same[0]] != item[key]]
        if sort == B:
            bad += [say(rng, field, item[name_key], not item[key])] * 2
        elif others:
            bad += [say(rng, field, item[name_key], wrong) for wrong in rng.sample(others, min(2, len(others)))]
        else:
            bad.append(say(rng, field, item[name_key], value_of(rng, field)))
    two = [field for field in chosen if field[1] in (N, E, B, P)][:2]
    if len(two) == 2:
        say2 = lambda it, a, b: say(rng, two[0], it[name_key], a) + rng.choice([" and ", "; ", ", and "]) + (lambda s: s if s.startswith('"') else s)(say(rng, two[1], it[name_key], b))
        good.append(say2(item, item[two[0][0]], item[two[1][0]]))
        other = rng.choice(items)
        if other[two[1][0]] != item[two[1][0]]:
            bad.append(say2(item, item[two[0][0]], other[two[1][0]]))
    aggregate(rng, kind, name_key, items, chosen, good, bad)
    bad.append(good[0] + rng.choice([" ", ", "]) + rng.choice(REASONS + OPINIONS))
    absent = [field for field in fields if field not in chosen and field[1] in (B, E)]
    if absent:
        bad.append(say(rng, rng.choice(absent), item[name_key], value_of(rng, rng.choice(absent))) if absent[0][1] == B else say(rng, absent[0], item[name_key], absent[0][2](rng) if absent[0][2] else True))
    style = rng.random()
    if len(items) == 1:
        shown = dump(rng, items[0])
    elif style < 0.4:
        shown = dump(rng, items)
    elif style < 0.9:
        shown = ",".join(dump(rng, each, 0) for each in items)
        # A quotation may begin or end within a record.
        shown = shown[1:] if rng.random() < 0.2 else shown[:-1] if rng.random() < 0.2 else shown
    else:
        shown = json.dumps({"columns": order, "rows": [[each[key] for key in order] for each in items]}, ensure_ascii=False)
    yield shown, good, bad


def aggregate(rng, kind, name_key, items, chosen, good, bad):
    plural = {"day": "days"}.get(kind, kind + "s")
    if len(items) < 2:
        return
    words = "zero one two three four five".split()
    if rng.random() < 0.3:
        good.append(f"There are {rng.choice([words[len(items)], str(len(items))])} {plural}")
        bad.append(f"There are {words[len(items) + rng.choice((-1, 1))]} {plural}")
    for field in chosen:
        key, sort, _, says = field
        one, other = rng.sample(items, 2)
        if sort == N and one[key] != other[key]:
            more, less = (one, other) if one[key] > other[key] else (other, one)
            what = key.rsplit("_", 1)[0].replace("_", " ") if key.endswith(("_gb", "_c", "_mm", "_bytes", "_kmh", "_eur")) else key.replace("_", " ")
            for is_true, (a, b) in ((True, (more, less)), (False, (less, more))):
                text = rng.choice([f"{a[name_key]} has more {what} than {b[name_key]}", f"{what} is higher for {a[name_key]} than for {b[name_key]}", f"{b[name_key]} has a lower {what} than {a[name_key]}"])
                (good if is_true else bad).append(capital(text))
        if sort == B:
            held = sum(bool(each[key]) for each in items)
            predicate = lambda truth: rng.choice(says[0 if truth else 1]).replace("The {n} ", "").replace("\"{n}\" ", "").replace("{n} ", "")
            if "{n}" not in says[0][0][4:] and "job" not in predicate(True):
                verb = predicate(True)
                if verb.startswith(("is ", "has ", "was ")):
                    (good if held == len(items) else bad).append(f"Each of the {plural} {verb}")
                    (good if held == 0 else bad).append(f"None of the {plural} {verb}")
                    if held == 1:
                        only = next(each for each in items if each[key])
                        good.append(f"Only {only[name_key]} {verb}")
                        bad.append(f"Only {rng.choice([each for each in items if not each[key]])[name_key]} {verb}")


def links(rng):
    key, forward, backward = rng.choice(LINKS)
    make = person if key in ("mentors", "reports_to", "manages", "works_for") else lambda r: rng.choice(["T", "OPS", "PR", "K"]) + f"-{rng.randrange(1, 400)}" if rng.random() < 0.7 else rng.choice(SYSTEMS)
    a, b, c = make(rng), make(rng), make(rng)
    if len({a, b, c}) < 3:
        return
    style = rng.randrange(4)
    if style == 0:
        fields = {"from": a, rng.choice(["relation", "relationType", "type", "kind"]): key, "to": b}
    elif style == 1:
        fields = {rng.choice(["id", "name", "source"]): a, key: rng.choice([b, [b], [b, c]])}
    elif style == 2:
        fields = {key: b, rng.choice(["id", "name"]): a, "done": rng.random() < 0.5}
    else:
        fields = {"source": a, "target": b, "relation": key}
    says = lambda template, x, y: template.format(a=x, b=y)
    good = [says(forward, a, b), says(backward, a, b)]
    bad = [says(forward, b, a), says(backward, b, a), says(forward, a, b) + " " + rng.choice(REASONS)]
    if c not in json.dumps(fields):
        bad.append(says(forward, a, c))
    yield dump(rng, fields), good, bad


WHAT = "draft the plan|call the bank|book the room|paint the fence|test the pump|write the minutes|order the cable|talk to legal|check the invoices|pack the samples|water the plants|fix the login|send the report|clean the filter|update the site|train the interns".split("|")
PAST = "drafted the plan|called the bank|booked the room|painted the fence|tested the pump|wrote the minutes|ordered the cable|talked to legal|checked the invoices|packed the samples|watered the plants|fixed the login|sent the report|cleaned the filter|updated the site|trained the interns".split("|")


def shared_out(rng):
    """Two people, two things: who does which."""
    one, other = rng.sample(FIRST, 2)
    at, to = rng.sample(range(len(WHAT)), 2)
    kind = rng.randrange(5)
    if kind == 0:
        shown = rng.choice([f"{one} to {WHAT[at]}; {other} to {WHAT[to]}", f"{one} will {WHAT[at]}, and {other} will {WHAT[to]}", f"{one} is going to {WHAT[at]} while {other} is going to {WHAT[to]}"])
        says = lambda who, what: rng.choice([f"{who} will {WHAT[what]}", f"{who} is to {WHAT[what]}", f"It is {who} who is going to {WHAT[what]}", f"{who} has the task to {WHAT[what]}"])
        good, bad = [says(one, at), says(other, to)], [says(one, to), says(other, at), f"{one} {PAST[at]}", f"{other} {PAST[to]}", f"{one} has already {PAST[at]}" if PAST[at][:5] != "wrote" else f"{one} {PAST[at]} already"]
    elif kind == 1:
        shown = rng.choice([f"{one} {PAST[at]}; {other} {PAST[to]}", f"{one} {PAST[at]} and {other} {PAST[to]}", f"While {one} {PAST[at]}, {other} {PAST[to]}"])
        says = lambda who, what: rng.choice([f"{who} {PAST[what]}", f"It was {who} who {PAST[what]}"])
        good, bad = [says(one, at), says(other, to), f"{other} {PAST[to]}, and {one} {PAST[at]}"], [says(one, to), says(other, at), f"{one} did not {WHAT[at]}", f"{other} {PAST[at]}, and {one} {PAST[to]}"]
    elif kind == 2:
        shown = rng.choice([f"{one} {PAST[at]}, but {other} did not", f"{one} {PAST[at]}; {other} refused to"])
        good, bad = [f"{one} {PAST[at]}", f"{other} did not {WHAT[at]}"], [f"{other} {PAST[at]}", f"{one} did not {WHAT[at]}", f"{one} and {other} {PAST[at]}", f"{other} {PAST[at]}, but {one} did not"]
    elif kind == 3:
        x, y = rng.sample("red|blue|metric|imperial|French|Czech|Polish|paper|card|cash|bus|train|tea|coffee|mornings|afternoons".split("|"), 2)
        shown = rng.choice([f"{one} prefers {x}, {other} {y}", f"{one} wants {x}; {other} would rather have {y}", f"{one} is for {x} and not for {y}"])
        if "not for" in shown:
            good, bad = [f"{one} is for {x}", f"{one} is not for {y}", f"{one} is against {y} and for {x}"], [f"{one} is for {y}", f"{one} is for {y} and not for {x}", f"{one} is not for {x}", f"{one} is for {x} and {y}"]
        else:
            verb = "prefers" if "prefers" in shown else "wants"
            good, bad = [f"{one} {verb} {x}", f"{other} {rng.choice(['prefers', 'would rather have'])} {y}"], [f"{one} {verb} {y}", f"{other} prefers {x}", f"Both {verb.rstrip('s')} {x}", f"{other} got {y}"]
    else:
        a, b = rng.sample(range(2, 90), 2)
        noun, (x, y) = rng.choice("votes seats points tickets orders visitors".split()), rng.sample(CITIES, 2)
        shown = rng.choice([f"{x} has {a} {noun}, {y} {b}", f"{x}: {a} {noun}; {y}: {b} {noun}", f"{a} {noun} went to {x} and {b} to {y}"])
        more, less = (x, y) if a > b else (y, x)
        good = [f"{x} has {a} {noun}", f"{y} has {b} {noun}", f"{more} has more {noun} than {less}", f"{less} has fewer {noun} than {more}"]
        bad = [f"{x} has {b} {noun}", f"{y} has {a} {noun}", f"{less} has more {noun} than {more}", f"{more} has fewer {noun} than {less}", f"{x} and {y} have {a} {noun} each"]
    yield shown, good, bad


def moves(rng):
    """From one to another."""
    a, b = rng.sample(rng.choice([CITIES, DAYS, [str(n) for n in range(3, 99)], "red green yellow violet blue".split()]), 2)
    what = rng.choice(["The meeting", "The limit", "The rate", "The light", "The service", "The office", "Traffic", "The deadline", "The team", "The timeout"])
    says = lambda x, y: rng.choice([f"{what} was moved from {x} to {y}", f"{what} went from {x} to {y}", f"{what} changed from {x} to {y}", f"{what} is now {y} instead of {x}", f"{what}, formerly {x}, is now {y}"])
    shown = rng.choice([says(a, b), f"{what}: {a} -> {b}", f"{what} moves to {b}; it used to be {a}", json.dumps({"what": what, "before": a, "after": b}), json.dumps({"after": b, "before": a})[1:-1]])
    good, bad = [says(a, b), says(a, b), f"{what} is no longer {a}"], [says(b, a), says(b, a), f"{what} is still {a}", f"{what} is no longer {b}"]
    if a.isdigit():
        up = rng.choice(["rose", "was raised", "went up", "increased"]) if int(b) > int(a) else rng.choice(["fell", "was lowered", "went down", "was cut"])
        down = rng.choice(["rose", "was raised", "went up"]) if int(b) < int(a) else rng.choice(["fell", "was lowered", "went down"])
        good += [f"{what} {up} to {b}", f"{what} {up} from {a} to {b}"]
        bad += [f"{what} {down} from {b} to {a}", f"{what} {down} to {b}"]
    yield shown, good, bad


def empties(rng):
    """Nothing, none, null and zero."""
    key, noun = rng.choice([("comments", "comments"), ("assignee", "assignee"), ("errors", "errors"), ("labels", "labels"), ("description", "description"), ("attachments", "attachments"), ("warnings", "warnings"), ("location", "location"), ("due_date", "due date"), ("dependencies", "dependencies"), ("staged", "staged files"), ("reviewers", "reviewers"), ("retries", "retries"), ("cancelled_at", "cancellation date"), ("license", "license"), ("matches", "matches")])
    plural = noun.endswith("s") and noun != "license"
    empty = rng.choice([[], 0, None] if plural else [None, ""])
    name = rng.choice(["T-12", "web-03", "The item", "Release 2.1", "The request", "nightly"])
    other = {rng.choice(["id", "name", "title"]): name} if rng.random() < 0.5 else {}
    who = name if other else rng.choice(["It", "The item"])
    are = "are" if plural else "is"
    good = [f"{who} has no {noun}", f"There {are} no {noun}", f"{who} {'lacks' if not plural else 'is without'} {'a ' if not plural else ''}{noun}", f"No {noun} {are} given"]
    bad = [f"{who} has {'some ' if plural else 'a '}{noun}", f"There {are} {'several' if plural else 'a'} {noun}", f"{who} has no {rng.choice(['owner', 'title', 'tests', 'users', 'tags'])}"]
    yield dump(rng, {key: empty, **other}), good, bad
    full = rng.choice([["alpha", "beta"], 7] if plural else ["Lena Vogt", "see below"])
    yield dump(rng, {key: full, **other}), [], good[:3]


def pairs(seed, rounds):
    rng, seen, out = random.Random(seed), set(), []
    for _ in range(rounds):
        for make in (lists, lists, lists, links, shared_out, moves, empties):
            for shown, good, bad in make(rng):
                shown = sentence(shown) if make is shared_out else shown
                rng.shuffle(good), rng.shuffle(bad)
                false = [claim for claim in bad if claim not in good]
                for claims, follows in ((good[:3], 1), (false[:3], 0)):
                    for claim in claims:
                        claim = sentence(claim) if rng.random() < 0.9 else claim
                        if (shown, claim) not in seen:
                            seen.add((shown, claim))
                            out.append((shown, claim, follows))
    return out


if __name__ == "__main__":
    made = pairs(1, 200)
    print(len(made), sum(follows for _, _, follows in made))
    for shown, claim, follows in random.Random(2).sample(made, 70):
        print("+" if follows else "-", claim, "|", shown)
