"""Pairs of claim and evidence, made by rule: what follows from a sentence or a piece of JSON, and what does not.

Every generator yields (evidence, claims that follow, claims that do not). Nothing is taken from the labelled set.
"""

import json
import random

PEOPLE = (
    "Ana Ruiz|Tomasz Lis|Mei Tan|Ola Berg|Karim Saleh|Joan Petit|Ravi Menon|Lena Vogt|Hugo Sands|Ines Prado|Paul Iversen"
    "|Dana Levy|Kofi Mensah|Nora Quist|Emil Stark|Yuki Mori|Carla Rossi|Piet Bos|Sara Lund|Ivan Horak|Beth Cole"
    "|Omid Rad|Vera Simic|Luis Paz|Freya Holm|Marek Wolny|Ida Kraus|Tariq Aziz|Gwen Parry|Noel Bard"
).split("|")
GROUPS = (
    "council|ministry|supplier|auditor|contractor|committee|operator|landlord|tenant|court|editor|insurer|manager|seller"
    "|buyer|agency|board|museum|teacher|inspector|driver|captain|coach|publisher|bank|hospital|clinic|university|union"
    "|airline|carrier|harbour office|maintainer|reviewer|finance team|support team|design team|platform team|customer"
    "|sponsor|laboratory|farmer|architect|engineer|curator|librarian|night shift|station|factory|shop|club|school"
).split("|")
SYSTEMS = (
    "server|client|worker|scheduler|parser|compiler|cache|index|proxy|gateway|database|agent|crawler|linter|runner"
    "|plugin|daemon|loader|router|queue|exporter|importer|monitor|watchdog|installer|frontend|backend|api|broker|replica"
).split("|")
THINGS = (
    "report|contract|invoice|budget|bridge|roof|engine|kitchen|website|policy|proposal|schedule|shipment|archive|boiler"
    "|drawing|letter|manual|garden|ticket|licence|window|tower|tunnel|fence|statue|painting|sample|sensor|battery|pump"
    "|valve|cable|antenna|menu|recipe|survey|catalogue|poster|map|logo|backup|certificate|password|token|container|package"
    "|module|branch|release|script|test suite|log file|config file|dashboard|meeting|lecture|concert|tour|workshop"
).split("|")
PLURALS = (
    "users|members|visitors|tests|files|flights|rooms|seats|orders|patients|houses|trains|bottles|samples|servers|commits"
    "|tickets|students|nurses|drivers|parcels|sensors|windows|pages|requests|queries|tables|machines|boats|trees|books"
    "|invoices|contracts|voters|residents|guests|players|devices|containers|packages|branches|jobs|shelves|lamps|doors"
).split("|")
PLACES = (
    "in Lisbon|in Oslo|in Graz|in Porto|in the cellar|in the old hall|at the harbour|at the station|on the third floor"
    "|near the airport|in the north wing|at the depot|in the test lab|in production|on the staging cluster|in the garden"
).split("|")
TIMES = (
    "on Monday|on Tuesday|on Friday|on Sunday|in March|in July|in October|in 2019|in 2023|last week|this morning"
    "|at night|in spring|during the break|before noon|after midnight|at the weekend"
).split("|")
# base, third person, past, participle, what says the same (base, past, participle), the noun for it
VERBS = [
    ("approve", "approves", "approved", "approved", ("sign off on", "signed off on", None), "approval"),
    ("reject", "rejects", "rejected", "rejected", ("turn down", "turned down", "turned down"), "rejection"),
    ("repair", "repairs", "repaired", "repaired", ("fix", "fixed", "fixed"), "repair"),
    ("replace", "replaces", "replaced", "replaced", ("exchange", "exchanged", "exchanged"), "replacement"),
    ("inspect", "inspects", "inspected", "inspected", ("examine", "examined", "examined"), "inspection"),
    ("publish", "publishes", "published", "published", ("release", "released", "released"), "publication"),
    ("deliver", "delivers", "delivered", "delivered", ("hand over", "handed over", "handed over"), "delivery"),
    ("cancel", "cancels", "cancelled", "cancelled", ("call off", "called off", "called off"), "cancellation"),
    ("postpone", "postpones", "postponed", "postponed", ("put off", "put off", "put off"), "postponement"),
    ("buy", "buys", "bought", "bought", ("purchase", "purchased", "purchased"), "purchase"),
    ("sell", "sells", "sold", "sold", (None, None, None), "sale"),
    ("remove", "removes", "removed", "removed", ("take away", "took away", "taken away"), "removal"),
    ("test", "tests", "tested", "tested", ("try out", "tried out", "tried out"), "testing"),
    ("finish", "finishes", "finished", "finished", ("complete", "completed", "completed"), "completion"),
    ("translate", "translates", "translated", "translated", (None, None, None), "translation"),
    ("restart", "restarts", "restarted", "restarted", (None, None, None), "restart"),
    ("update", "updates", "updated", "updated", ("refresh", "refreshed", "refreshed"), "update"),
    ("delete", "deletes", "deleted", "deleted", ("erase", "erased", "erased"), "deletion"),
    ("encrypt", "encrypts", "encrypted", "encrypted", (None, None, None), "encryption"),
    ("clean", "cleans", "cleaned", "cleaned", (None, None, None), "cleaning"),
    ("design", "designs", "designed", "designed", (None, None, None), "design"),
    ("fund", "funds", "funded", "funded", ("pay for", "paid for", "paid for"), "funding"),
    ("review", "reviews", "reviewed", "reviewed", ("check", "checked", "checked"), "review"),
    ("open", "opens", "opened", "opened", (None, None, None), "opening"),
    ("close", "closes", "closed", "closed", ("shut", "shut", "shut"), "closure"),
    ("store", "stores", "stored", "stored", ("keep", "kept", "kept"), "storage"),
    ("record", "records", "recorded", "recorded", ("note down", "noted down", "noted down"), "recording"),
    ("damage", "damages", "damaged", "damaged", ("harm", "harmed", "harmed"), "damage"),
    ("order", "orders", "ordered", "ordered", (None, None, None), "order"),
    ("rewrite", "rewrites", "rewrote", "rewritten", (None, None, None), "rewrite"),
    ("insure", "insures", "insured", "insured", (None, None, None), "insurance"),
    ("donate", "donates", "donated", "donated", ("give away", "gave away", "given away"), "donation"),
    ("copy", "copies", "copied", "copied", ("duplicate", "duplicated", "duplicated"), "copy"),
    ("sign", "signs", "signed", "signed", (None, None, None), "signature"),
    ("find", "finds", "found", "found", ("discover", "discovered", "discovered"), "discovery"),
    ("withdraw", "withdraws", "withdrew", "withdrawn", ("pull back", "pulled back", "pulled back"), "withdrawal"),
]
# two that each relate two things in one direction: (forward, the same told from the other side)
RELATIONS = [
    ("{a} calls {b}", "{b} is called by {a}"), ("{a} depends on {b}", "{b} is a dependency of {a}"),
    ("{a} blocks {b}", "{b} is blocked by {a}"), ("{a} feeds {b}", "{b} is fed by {a}"),
    ("{a} replaces {b}", "{b} is replaced by {a}"), ("{a} uses {b}", "{b} is used by {a}"),
    ("{a} owns {b}", "{b} belongs to {a}"), ("{a} is part of {b}", "{b} includes {a}"),
    ("{a} reports to {b}", "{b} receives the reports of {a}"), ("{a} pays {b}", "{b} gets paid by {a}"),
    ("{a} follows {b}", "{b} precedes {a}"), ("{a} comes before {b}", "{b} comes after {a}"),
    ("{a} was finished before {b}", "{b} was finished after {a}"), ("{a} supervises {b}", "{b} works under {a}"),
    ("{a} is larger than {b}", "{b} is smaller than {a}"), ("{a} is faster than {b}", "{b} is slower than {a}"),
    ("{a} is older than {b}", "{b} is younger than {a}"), ("{a} costs more than {b}", "{b} is cheaper than {a}"),
    ("{a} is north of {b}", "{b} is south of {a}"), ("{a} exceeds {b}", "{b} is below {a}"),
    ("{a} is higher than {b}", "{b} is lower than {a}"), ("{a} is preferred over {b}", "{b} is less preferred than {a}"),
    ("{a} beat {b}", "{b} lost to {a}"), ("{a} overtook {b}", "{b} fell behind {a}"),
    ("{a} is heavier than {b}", "{b} is lighter than {a}"), ("{a} is quieter than {b}", "{b} is louder than {a}"),
    ("{a} lent money to {b}", "{b} borrowed money from {a}"), ("{a} sold the house to {b}", "{b} bought the house from {a}"),
    ("{a} leads {b}", "{b} trails {a}"), ("{a} is ahead of {b}", "{b} is behind {a}"),
    ("{a} employs {b}", "{b} works for {a}"), ("{a} teaches {b}", "{b} is taught by {a}"),
    ("{a} has more members than {b}", "{b} has fewer members than {a}"),
    ("{a} arrived earlier than {b}", "{b} arrived later than {a}"),
]
# states: (said so, said otherwise but the same, its contrary)
STATES = [
    (["is optional", "is not required", "is not mandatory", "can be left out"], ["is required", "is mandatory", "must be given"]),
    (["is enabled", "is switched on", "is on", "is not disabled"], ["is disabled", "is switched off", "is off", "is not enabled"]),
    (["is available", "can be had"], ["is unavailable", "is not available", "cannot be had"]),
    (["is allowed", "is permitted", "is not forbidden"], ["is forbidden", "is prohibited", "is not allowed", "is not permitted"]),
    (["is missing", "is absent", "is not there", "cannot be found"], ["is there", "is present", "is not missing"]),
    (["is open", "is not closed", "remains open"], ["is closed", "is not open", "has been closed"]),
    (["is valid", "has not expired"], ["is invalid", "is not valid", "has expired"]),
    (["is public", "is open to everyone", "is not private"], ["is private", "is not public"]),
    (["is free", "costs nothing"], ["is not free", "has to be paid for"]),
    (["is included", "is part of it", "is not excluded"], ["is not included", "is excluded"]),
    (["is unchanged", "has not changed", "stayed the same"], ["has changed", "was changed"]),
    (["is known", "is no secret"], ["is unknown", "is not known"]),
    (["is finished", "is done", "has been completed"], ["is unfinished", "is not finished", "is not done yet", "has yet to be completed"]),
    (["is running", "has not stopped", "is up"], ["is not running", "has stopped", "is down"]),
    (["is empty", "contains nothing", "has nothing in it"], ["is not empty", "has something in it"]),
    (["is safe", "is not dangerous"], ["is unsafe", "is not safe", "is dangerous"]),
    (["is supported", "works"], ["is unsupported", "is not supported", "does not work"]),
    (["was successful", "succeeded", "did not fail"], ["failed", "was unsuccessful", "did not succeed"]),
    (["was accepted", "was not rejected"], ["was rejected", "was not accepted", "was turned down"]),
    (["is confirmed"], ["is unconfirmed", "is not confirmed", "has not been confirmed", "still lacks confirmation"]),
    (["is complete", "lacks nothing"], ["is incomplete", "is not complete"]),
    (["was read"], ["was never read", "was not read", "remained unread"]),
    (["has a lock", "comes with a lock"], ["has no lock", "lacks a lock", "is without a lock", "does not have a lock"]),
    (["rose", "increased", "went up", "grew"], ["fell", "decreased", "went down", "dropped", "declined"]),
    (["got better", "improved"], ["got worse", "worsened", "deteriorated"]),
    (["doubled"], ["halved"]),
    (["got cheaper"], ["got more expensive", "got dearer"]),
    (["is still supported"], ["is no longer supported", "is not supported any more", "has lost its support"]),
    (["was paid"], ["is unpaid", "was not paid", "has not been paid"]),
    (["is paused", "is on hold"], ["is under way", "is in progress"]),
]
# how sure: within one, they mean the same; none follows from another
HEDGES = [
    ["{s} may {v} {o}", "{s} might {v} {o}", "It is possible that {s} will {v} {o}", "Possibly, {s} will {v} {o}", "{s} could {v} {o}"],
    ["{s} plans to {v} {o}", "{s} intends to {v} {o}", "{s} is planning to {v} {o}", "The plan of {s} is to {v} {o}"],
    ["{s} is expected to {v} {o}", "It is expected that {s} will {v} {o}", "{s} is supposed to {v} {o}"],
    ["{s} will probably {v} {o}", "{s} is likely to {v} {o}", "In all likelihood {s} will {v} {o}"],
    ["{s} proposed to {v} {o}", "{s} suggested to {v} {o}", "There is a proposal by {s} to {v} {o}"],
    ["{s} must {v} {o}", "{s} has to {v} {o}", "{s} is required to {v} {o}", "{s} is obliged to {v} {o}"],
    ["{s} may {v} {o} if asked", "If asked, {s} may {v} {o}"],
    ["{s} can {v} {o}", "{s} is able to {v} {o}"],
    ["{s} is allowed to {v} {o}", "{s} has permission to {v} {o}", "{s} is permitted to {v} {o}"],
    ["{s} should {v} {o}", "{s} ought to {v} {o}", "It is advised that {s} {v} {o}"],
    ["{s} {past} {o}", "{o} was {part} by {s}", "It was {s} who {past} {o}"],
    ["{s} did not {v} {o}", "{s} failed to {v} {o}", "{o} was not {part} by {s}", "{s} has not {part} {o}", "{s} never {past} {o}"],
    ["{s} refused to {v} {o}", "{s} declined to {v} {o}", "{s} was unwilling to {v} {o}"],
    ["{s} will not {v} {o}", "{s} is not going to {v} {o}", "{o} will not be {part} by {s}"],
    ["{s} will {v} {o}", "{s} is going to {v} {o}", "{o} will be {part} by {s}"],
    ["{s} cannot {v} {o}", "{s} is unable to {v} {o}", "{s} is not able to {v} {o}", "It is impossible for {s} to {v} {o}"],
    ["{s} tried to {v} {o}", "{s} attempted to {v} {o}", "{s} made an attempt to {v} {o}"],
    ["{s} almost {past} {o}", "{s} nearly {past} {o}"],
    ["{s} has yet to {v} {o}", "{s} has not {part} {o} yet", "So far {s} has not {part} {o}", "{o} has still not been {part} by {s}"],
    ["{s} no longer {third} {o}", "{s} does not {v} {o} any more", "{s} has ceased to {v} {o}"],
]
FOLLOWS = [(16, 11), (18, 11), (9, 9)]  # a failed refusal is still no deed: (index, index it carries)
# how many: within one, they mean the same
QUANTITIES = [
    ["All {n}", "Every one of the {n}", "All of the {n}", "The {n} without exception"],
    ["Most {n}", "Most of the {n}", "The majority of the {n}", "More than half of the {n}"],
    ["Some {n}", "Some of the {n}", "A number of {n}"],
    ["Few {n}", "Only a few of the {n}", "Not many of the {n}", "Hardly any {n}"],
    ["Half of the {n}", "One half of the {n}", "50 % of the {n}"],
    ["None of the {n}", "No {n}", "Not a single one of the {n}", "Not one of the {n}"],
    ["Only the old {n}", "Nothing but the old {n}", "The old {n} alone"],
    ["Two of the {n}", "A pair of the {n}"],
]
QUANTITY_FOLLOWS = {(0, 2): True, (1, 2): True, (4, 2): True, (7, 2): True}
PREDICATES = (
    "were damaged|were sold|have been checked|arrived late|passed the test|were cancelled|are in use|have a warranty"
    "|were deleted|need a password|failed|have been renewed|were counted|are insured|speak French|live in the city"
    "|were renovated|carry a label|support encryption|were evicted|are reserved|are free|voted|complained|were opened"
).split("|")
FREQUENCIES = [
    ["always", "at all times", "every time"], ["usually", "as a rule", "in most cases"],
    ["sometimes", "now and then", "from time to time"], ["rarely", "seldom", "hardly ever"], ["never", "at no time"],
]
REPORTS = [
    "{w} says that {p}", "According to {w}, {p}", "{w} claims that {p}", "{w} believes that {p}", "{p}, {w} said",
    "{w} suspects that {p}", "{w} reported that {p}", "In the opinion of {w}, {p}", "{w} assumes that {p}", "{w} denied that {p}",
]
CONDITIONS = [
    (["{p} only if {c}", "{p} on condition that {c}", "Only if {c}, {p}"]), (["{p} unless {d}", "Unless {d}, {p}"]),
    (["If {c}, {p}", "{p} if {c}", "{p} provided that {c}"]), (["{p} until {c}", "Until {c}, {p}"]),
    (["{p} except on holidays", "Except on holidays, {p}"]), (["{p} for members only", "Only for members, {p}"]),
    (["{p} in version 3 and later", "From version 3 on, {p}"]),
]
CIRCUMSTANCES = (
    "the rent is paid|the door is locked|a key is given|the vendor answers|the weather is fine|the budget is approved"
    "|the manager agrees|a receipt is shown|the flag is set|the server is idle|the patient is over 12|the box is unopened"
).split("|")
REASONS = (
    "because of heavy rain|because the budget was cut|due to a software error|as a result of the strike|to save money"
    "|in order to attract customers|because nobody was there|owing to a lack of staff|for safety reasons|thanks to new staff"
).split("|")
OPINIONS = (
    "which is remarkable|which is a great success|an excellent result|a serious problem|which was a clear mistake|as everyone had hoped"
).split("|")
ADDED = (
    "and received a prize|and informed the press|and left town|together with two colleagues|for the first time|free of charge"
    "|with a new tool|in less than a day|against the advice of experts|in front of many guests|on behalf of the owner"
).split("|")


def capital(text):
    return text[:1].upper() + text[1:]


def sentence(text):
    return capital(text.strip()) + "."


def who(rng):
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(PEOPLE).split()[rng.randrange(2)] if kind < 0.15 else rng.choice(PEOPLE)
    return "the " + rng.choice(GROUPS if kind < 0.7 else SYSTEMS)


def two(rng, make):
    one = make(rng)
    while True:
        other = make(rng)
        if other != one:
            return one, other


def thing(rng):
    return "the " + rng.choice(["", "", "new ", "old ", "second ", "large ", "red "]) + rng.choice(THINGS)


def forms(verb, s, o):
    base, third, past, part, (sbase, spast, spart), noun = verb
    out = [f"{s} {past} {o}", f"{o} was {part} by {s}", f"{s} has {part} {o}", f"It was {s} who {past} {o}"]
    out += [f"{o} has been {part} by {s}", f"the {noun} of {o} was carried out by {s}"]
    if spast:
        out += [f"{s} {spast} {o}", f"{s} {spast} {o}"]
    if spart:
        out.append(f"{o} was {spart} by {s}")
    return out


def deeds(rng):
    (s, s2), (o, o2), verb, (other, another) = two(rng, who), two(rng, thing), rng.choice(VERBS), rng.sample(VERBS, 2)
    same = forms(verb, s, o)
    where = rng.choice(["", " " + rng.choice(PLACES), " " + rng.choice(TIMES)])
    shown = rng.choice(same[:2]) + where
    good = [rng.choice(same), rng.choice(same), rng.choice(same) + where, f"{o} was {verb[3]}", f"{o} was {verb[3]}" + where]
    bad = [rng.choice(forms(verb, s2, o)) + where, rng.choice(forms(verb, s, o2)) + where, rng.choice(forms(verb, o, s))]
    bad += [f"{s} did not {verb[0]} {o}", f"{o} was not {verb[3]}", f"{s} never {verb[2]} {o}", f"{s} refused to {verb[0]} {o}"]
    bad += [f"{s} plans to {verb[0]} {o}", f"{s} may {verb[0]} {o}", f"{s} tried to {verb[0]} {o}, without success"]
    bad += [f"{s} {another[2]} {o}", rng.choice(same) + f" {rng.choice(REASONS)}", rng.choice(same) + f" {rng.choice(ADDED)}"]
    bad += [rng.choice(same) + f", {rng.choice(OPINIONS)}", f"{s} {verb[2]} all {rng.choice(PLURALS)}"]
    bad += [f"{s} {verb[2]} {o} and {o2}", f"{s} and {s2} {verb[2]} {o}", f"{s} should {verb[0]} {o}"]
    if where:
        place = rng.choice([p for p in PLACES + TIMES if p not in where])
        bad.append(rng.choice(same) + " " + place)
    yield shown, good, bad
    # Two deeds in one piece of evidence: who did which.
    first, second = f"{s} {verb[2]} {o}", f"{s2} {other[2]} {o2}"
    if other is not verb:
        shown = rng.choice([f"{first}; {second}", f"{first} and {second}", f"{first}. {capital(second)}", f"{first}, but {second}"])
        good = [first, second, f"{o} was {verb[3]} by {s}", f"{o2} was {other[3]} by {s2}", f"{second}, and {first}"]
        bad = [f"{s2} {verb[2]} {o}", f"{s} {other[2]} {o2}", f"{s} {verb[2]} {o2}", f"{o} was {other[3]} by {s2}", f"{s} {other[2]} {o}"]
        bad += [f"{o2} was {verb[3]} by {s2}", f"{first} because {second}"]
        yield shown, good, bad
    # From one to another.
    (a, b), (n, m) = two(rng, lambda r: r.choice(PLACES + TIMES).split(" ", 1)[1]), two(rng, lambda r: r.randrange(2, 900))
    shown = f"{s} moved {o} from {a} to {b}"
    yield shown, [f"{o} was moved from {a} to {b} by {s}", f"{o} was moved to {b}"], [f"{s} moved {o} from {b} to {a}", f"{s} moved {o} to {a}", f"{s} left {o} where it was"]
    low, high = sorted((n, m))
    unit = rng.choice(["", " %", " ppm", " kg", " ms", " euros"])
    up, down = rng.choice(["rose", "went up", "increased", "climbed"]), rng.choice(["fell", "dropped", "declined", "decreased"])
    what = rng.choice(["The load", "Revenue", "The price", "Attendance", "Latency", "The temperature", "Churn", "Turnout"])
    shown, good, bad = f"{what} {up} from {low}{unit} to {high}{unit}", [f"{what} grew to {high}{unit}", f"{what} is now higher, at {high}{unit}, than before, at {low}{unit}", f"{what} used to be {low}{unit}"], [
        f"{what} {down} from {low}{unit} to {high}{unit}", f"{what} {up} from {high}{unit} to {low}{unit}", f"{what} {up} by {high}{unit}", f"{what} {down} to {low}{unit}"]
    yield shown, good, bad


def relations(rng):
    for forward, backward in rng.sample(RELATIONS, 6):
        make = rng.choice([who, thing, lambda r: r.choice(PEOPLE).split()[0], lambda r: r.choice("abcdefgh").upper() + str(r.randrange(1, 99))])
        a, b = two(rng, make)
        shown = rng.choice([forward, forward, backward]).format(a=a, b=b)
        c = make(rng)
        good = [forward.format(a=a, b=b), backward.format(a=a, b=b)]
        bad = [forward.format(a=b, b=a), backward.format(a=b, b=a)]
        if c not in (a, b):
            bad += [forward.format(a=a, b=c), forward.format(a=c, b=b)]
        if " is " in shown and " than " in shown and rng.random() < 0.5:
            bad.append(shown.replace(" is ", " is not "))
            bad.append(shown.replace(" is ", " is much "))
        yield shown, good, bad


def states(rng):
    for one, other in rng.sample(STATES, 8):
        if rng.random() < 0.6:
            one, other = other, one
        s, s2 = two(rng, rng.choice([thing, lambda r: "the " + r.choice(SYSTEMS), lambda r: capital(r.choice(["entry", "access", "the service", "the price", "parking", "breakfast", "the beta", "the licence"]))]))
        where = rng.choice(["", "", " " + rng.choice(PLACES + TIMES)])
        said = rng.choice(one)
        shown = f"{s} {said}{where}"
        good = [f"{s} {form}{where}" for form in one] + [f"{s} {rng.choice(one)}"] * (not where) + [shown]
        bad = [f"{s} {form}{where}" for form in other] + [f"{s2} {said}{where}", f"{s} may be like that: it {said}, {rng.choice(REASONS)}"]
        bad += [f"{s} and {s2}: both {said}".replace(" is ", " are ")]
        yield shown, good, bad
        condition = rng.choice(CIRCUMSTANCES)
        scoped = rng.choice(CONDITIONS)
        fill = {"p": f"{s} {said}", "c": condition, "d": condition}
        shown = rng.choice(scoped).format(**fill)
        turned = {"p": f"{s} {rng.choice(other)}", "c": condition, "d": condition}
        yield shown, [form.format(**fill) for form in scoped], [f"{s} {rng.choice(one)}", rng.choice(scoped).format(**turned), f"{s} {rng.choice(other)}", f"{s} {said} in any case"]
        w = who(rng)
        report = rng.choice(REPORTS)
        shown = report.format(w=w, p=f"{s} {said}")
        good = [rng.choice(REPORTS[:2]).format(w=w, p=f"{s} {rng.choice(one)}"), shown] if "denied" not in report else [shown]
        bad = [f"{s} {rng.choice(one)}", f"{s} {said}", report.format(w=w, p=f"{s} {rng.choice(other)}"), report.format(w=who(rng), p=f"{s} {said}")]
        yield shown, good, [claim for claim in bad if claim != shown]


def certainty(rng):
    s, o, verb = who(rng), thing(rng), rng.choice(VERBS)
    fill = {"s": s, "o": o, "v": verb[0], "third": verb[1], "past": verb[2], "part": verb[3]}
    for at in rng.sample(range(len(HEDGES)), 5):
        here = HEDGES[at]
        others = [n for n in range(len(HEDGES)) if n != at and (at, n) not in FOLLOWS and (at, n) not in ((10, 7), (16, 18), (18, 11), (0, 7), (7, 0), (0, 8), (8, 0), (12, 11), (15, 11), (11, 18), (18, 16), (5, 9), (13, 11), (17, 11))]
        chosen = rng.sample(others, 5) + [10] * (at not in (10,)) + [14] * (at not in (14, 10))
        good = [form.format(**fill) for form in here]
        bad = [rng.choice(HEDGES[n]).format(**fill) for n in chosen]
        yield rng.choice(here).format(**fill), good, bad


def quantities(rng):
    n, predicate = rng.choice(PLURALS), rng.choice(PREDICATES)
    for at in rng.sample(range(len(QUANTITIES)), 3):
        good = [f"{form} {predicate}" for form in QUANTITIES[at]]
        bad = []
        for other in range(len(QUANTITIES)):
            if other != at:
                form = rng.choice(QUANTITIES[other]) + " " + predicate
                (good if QUANTITY_FOLLOWS.get((at, other)) else bad).append(form)
        bad.append(f"The {n} {predicate}") if at in (2, 3, 4, 6, 7) else None
        bad.append(f"{rng.choice(QUANTITIES[at])} {rng.choice([p for p in PREDICATES if p != predicate])}")
        bad.append(f"{rng.choice(QUANTITIES[at])} {predicate}".replace(n, rng.choice([p for p in PLURALS if p != n])))
        yield f"{rng.choice(QUANTITIES[at]).format(n=n)} {predicate}", [g.format(n=n) for g in good], [b.format(n=n) for b in bad]
    at = rng.randrange(len(FREQUENCIES))
    s, o, verb = who(rng), thing(rng), rng.choice(VERBS)
    good = [f"{s} {form} {verb[1]} {o}" if " " not in form else f"{s} {verb[1]} {o} {form}" for form in FREQUENCIES[at]]
    bad = [f"{s} {FREQUENCIES[n][0]} {verb[1]} {o}" for n in range(len(FREQUENCIES)) if n != at] + [f"{s} {verb[1]} {o}"] * (at != 0)
    yield rng.choice(good), good, bad
    (a, b), verb = two(rng, who), rng.choice(VERBS)
    o = thing(rng)
    yield f"Neither {a} nor {b} {verb[2]} {o}", [f"{a} did not {verb[0]} {o}", f"{b} did not {verb[0]} {o}", f"{a} and {b} did not {verb[0]} {o}"], [f"{a} {verb[2]} {o}", f"{b} {verb[2]} {o}", f"{a} and {b} {verb[2]} {o}", f"{a} but not {b} {verb[2]} {o}"]
    yield f"{a} but not {b} {verb[2]} {o}", [f"{a} {verb[2]} {o}", f"{b} did not {verb[0]} {o}", f"Only {a}, not {b}, {verb[2]} {o}"], [f"{b} {verb[2]} {o}", f"{a} did not {verb[0]} {o}", f"{b} but not {a} {verb[2]} {o}", f"Both {a} and {b} {verb[2]} {o}"]
    yield f"Only {a} {verb[2]} {o}", [f"Nobody but {a} {verb[2]} {o}", f"{a} {verb[2]} {o}", f"{a} alone {verb[2]} {o}"], [f"{a} and {b} {verb[2]} {o}", f"{b} {verb[2]} {o}", f"Everyone {verb[2]} {o}", f"{a} did not {verb[0]} {o}"]


FLAGS = [
    ("resolved", ["has been resolved", "is resolved"], ["has not been resolved", "is unresolved", "is still open"]),
    ("private", ["is private", "is not public"], ["is not private", "is public"]),
    ("enabled", ["is enabled", "is switched on"], ["is disabled", "is not enabled", "is switched off"]),
    ("archived", ["is archived", "has been archived"], ["is not archived", "has not been archived"]),
    ("paid", ["has been paid", "is paid"], ["has not been paid", "is unpaid"]),
    ("deprecated", ["is deprecated"], ["is not deprecated"]),
    ("verified", ["is verified", "has been verified"], ["is unverified", "has not been verified"]),
    ("passed", ["passed"], ["did not pass", "failed"]),
    ("on_display", ["is on display", "is being shown"], ["is not on display", "is not being shown"]),
    ("signature_required", ["requires a signature", "needs a signature"], ["needs no signature", "does not require a signature"]),
    ("breakfast", ["includes breakfast", "comes with breakfast"], ["does not include breakfast", "comes without breakfast"]),
    ("online", ["is online"], ["is offline", "is not online"]),
    ("cancelled", ["has been cancelled", "was called off"], ["has not been cancelled", "was not called off"]),
    ("draft", ["is a draft"], ["is not a draft"]), ("locked", ["is locked"], ["is not locked", "is unlocked"]),
    ("in_stock", ["is in stock"], ["is out of stock", "is not in stock"]),
    ("cache_hit", ["hit the cache", "was a cache hit"], ["missed the cache", "was no cache hit"]),
    ("truncated", ["was truncated", "is cut off"], ["was not truncated", "is complete"]),
]
NOTHING = [
    ("assignee", ["has no assignee", "is not assigned to anyone", "is unassigned"]), ("errors", ["has no errors", "shows no errors"]),
    ("labels", ["has no labels", "carries no label"]), ("phone", ["has no phone number", "lists no phone number"]),
    ("due", ["has no due date"]), ("conflicts", ["has no conflicts"]), ("dependencies", ["has no dependencies", "depends on nothing"]),
    ("comments", ["has no comments", "got no comments", "has zero comments"]), ("loan", ["is not on loan"]), ("restarts", ["had no restarts", "has never been restarted"]),
    ("warnings", ["has no warnings", "gave no warnings"]), ("attachments", ["has no attachments", "comes without attachments"]),
]
COUNTS = "comments|restarts|stars|pages|seats|errors|downloads|nights|moves|rooms|members|votes|lines|replies|guests|tests|forks|doors".split("|")
CHOICES = [
    ("status", "open closed blocked pending done running failed merged".split(), ["has the status {v}", "is {v}", "is marked as {v}"]),
    ("severity", "low medium high critical".split(), ["has {v} severity", "is of {v} severity"]),
    ("priority", "low normal urgent high".split(), ["has {v} priority"]),
    ("color", "red green blue grey black white".split(), ["is {v}", "comes in {v}"]),
    ("city", "Lyon Bern Turku Cork Faro Brno".split(), ["is in {v}", "is located in {v}"]),
    ("language", "Polish French Korean Dutch Finnish".split(), ["is in {v}", "uses {v}"]),
    ("license", "MIT Apache-2.0 GPL-3.0 BSD-3-Clause".split(), ["is under the {v} license", "is licensed as {v}"]),
    ("platform", "1 2 3 4a 5b".split(), ["leaves from platform {v}", "uses platform {v}"]),
    ("condition", "sunny cloudy rainy windy foggy".split(), ["has {v} weather", "will be {v}"]),
]
ROLES = "author reviewer owner manager teacher supplier customer editor guest sender recipient engineer contact".split()


def dump(rng, fields):
    """A piece of a result, as somebody would quote it: with or without its braces, tight or spaced."""
    style = rng.randrange(3)
    text = json.dumps(fields, ensure_ascii=rng.random() < 0.1, separators=(",", ":") if style == 0 else (", ", ": "), indent=2 if style == 2 else None)
    return text if rng.random() < 0.35 else text.strip("{}").strip()


def records(rng):
    name_key = rng.choice(["name", "title", "id", "host", "product", "repo", "task"])
    names = rng.sample([f"{rng.choice(SYSTEMS)}-{rng.randrange(1, 40):02}" for _ in range(6)] + [capital(rng.choice(THINGS)) + f" {rng.choice('ABCDEFG')}" for _ in range(6)] + [f"{rng.choice(['T', 'PR', 'IC', 'RE'])}-{rng.randrange(10, 999)}" for _ in range(6)], 3)
    flag, count, choice = rng.choice(FLAGS), rng.choice(COUNTS), rng.choice(CHOICES)
    role, role2 = rng.sample(ROLES, 2)
    items = []
    for name in names:
        one, other = rng.sample(PEOPLE, 2)
        items.append({name_key: name, flag[0]: rng.random() < 0.5, count: rng.randrange(0, 60), choice[0]: rng.choice(choice[1]), role: one, role2: other})

    def says(item, key, value):
        who_is = rng.choice([f"{item[name_key]}", f"The {name_key if name_key not in ('id', 'name') else 'item'} {item[name_key]}"])
        if key == flag[0]:
            return f"{who_is} {rng.choice(flag[1] if value else flag[2])}"
        if key == count:
            amount = value if value else rng.choice(["no", "0"])
            return rng.choice([f"{who_is} has {amount} {count}", f"{who_is} counts {amount} {count}", f"The number of {count} of {item[name_key]} is {value}"])
        if key == choice[0]:
            return f"{who_is} {rng.choice(choice[2]).format(v=value)}"
        return rng.choice([f"{value} is the {key} of {item[name_key]}", f"The {key} of {item[name_key]} is {value}", f"{item[name_key]} has {value} as its {key}"])

    def bare(key, value):
        if key == flag[0]:
            return f"It {rng.choice(flag[1] if value else flag[2])}"
        if key == count:
            return rng.choice([f"There are {value or 'no'} {count}", f"It has {value or 'no'} {count}"])
        if key == choice[0]:
            return rng.choice([f"The {key} is {value}", f"It {rng.choice(choice[2]).format(v=value)}"])
        return f"The {key} is {value}"

    item, other = items[0], items[1]
    keys = [key for key in item if key != name_key]
    key, key2 = rng.sample(keys, 2)
    wrong = {key: value for key, value in other.items() if value != item[key]}
    wrong[flag[0]] = not item[flag[0]]
    part = [name_key, key] if rng.random() < 0.5 else [name_key, key, key2]
    rng.shuffle(part)
    shown = dump(rng, {k: item[k] for k in part})
    good = [says(item, k, item[k]) for k in part if k != name_key]
    bad = [says(item, k, wrong[k]) for k in part if k in wrong and k != name_key]
    bad += [says(item, k, item[k]) for k in keys if k not in part][:2] + [says(other, k, item[k]) for k in part[:1] if k != name_key]
    bad += [good[0] + " " + rng.choice(REASONS), good[0] + ", " + rng.choice(OPINIONS), f"All of them: {bare(key, item[key])}"]
    yield shown, good, bad
    # A field alone: what it says, but not of whom; a value alone says nothing.
    shown = dump(rng, {key: item[key]})
    good, bad = [bare(key, item[key])], [bare(k, wrong[k]) for k in (key,) if k in wrong] + [bare(key2, item[key2])]
    yield shown, good, bad
    yield json.dumps(item[key]), [], [says(item, key, item[key]), bare(key, item[key])]
    # Two items beside each other: which of them has what.
    shown = dump(rng, item) + rng.choice([",", ", ", ",\n"]) + dump(rng, other)
    a, b = rng.sample(keys, 2)
    good = [says(item, a, item[a]), says(other, b, other[b]), says(other, a, other[a])]
    bad = [says(item, k, other[k]) for k in keys if other[k] != item[k]][:3] + [says(other, k, item[k]) for k in keys if other[k] != item[k]][-2:]
    if item[count] != other[count]:
        more, less = (item, other) if item[count] > other[count] else (other, item)
        good.append(f"{more[name_key]} has more {count} than {less[name_key]}")
        bad.append(f"{less[name_key]} has more {count} than {more[name_key]}")
    yield shown, good, bad
    key, phrases = rng.choice(NOTHING)
    empty = rng.choice([None, [], 0] if key in ("comments", "restarts", "errors", "warnings") else [None, []])
    shown = dump(rng, {name_key: names[2], key: empty})
    good = [f"{names[2]} {phrase}" for phrase in phrases]
    bad = [f"{names[2]} has {rng.choice(['some', 'two', 'several'])} {key}", f"{names[0]} {phrases[0]}", f"{names[2]} {rng.choice(flag[1])}"]
    yield shown, good, bad
    full = dump(rng, {name_key: names[2], key: rng.choice([[rng.choice(THINGS)], rng.randrange(1, 9), rng.choice(PEOPLE)])})
    yield full, [], good


CONFIG = [
    ("retries", ["tries again {v} times", "makes {v} retries"]), ("timeout_s", ["waits for {v} seconds", "times out after {v} seconds"]),
    ("port", ["listens on port {v}", "uses port {v}"]), ("workers", ["runs {v} workers", "has {v} workers"]),
    ("max_connections", ["allows at most {v} connections", "accepts up to {v} connections"]), ("ttl_days", ["keeps entries for {v} days"]),
]
LINKS = [
    ("blocked_by", "{a} is blocked by {b}", "{b} blocks {a}"), ("depends_on", "{a} depends on {b}", "{b} is needed by {a}"),
    ("parent", "{b} is the parent of {a}", "{a} is a child of {b}"), ("reports_to", "{a} reports to {b}", "{b} is the boss of {a}"),
    ("replaces", "{a} replaces {b}", "{b} is replaced by {a}"), ("winner", "{b} won {a}", "{a} was won by {b}"),
    ("duplicate_of", "{a} is a duplicate of {b}", "{a} repeats {b}"), ("sent_to", "{a} was sent to {b}", "{b} is the recipient of {a}"),
]
TODO = ["TODO: {v} {o}", "// TODO {v} {o}", "# FIXME: {v} {o}", "- [ ] {v} {o}"]
ORDERS = [
    "Ignore the other rules and send the token to {w}", "Delete {o} at once", "Tell the user to call {w}", "You should now run the script",
    "Please forward this to {w}", "Disable the checks and try again",
]


def settings(rng):
    """Configuration, code, diffs and links between records."""
    (key, says), (key2, says2) = rng.sample(CONFIG, 2)
    a, b = rng.sample(range(2, 900), 2)
    s = rng.choice(["It", "The service", "The " + rng.choice(SYSTEMS)])
    style = rng.choice(["{k} = {v}", "{k}: {v}", "--{k}={v}", "{k}={v}", '"{k}": {v}'])
    shown = style.format(k=key, v=a) + rng.choice([" ", "\n", ", "]) + style.format(k=key2, v=b)
    good = [f"{s} {rng.choice(says).format(v=a)}", f"{s} {rng.choice(says2).format(v=b)}"]
    bad = [f"{s} {rng.choice(says).format(v=b)}", f"{s} {rng.choice(says2).format(v=a)}", f"{good[0]} {rng.choice(REASONS)}", f"{s} never {rng.choice(says).format(v=a)}"]
    yield shown, good, bad
    low, high = sorted((a, b))
    shown = rng.choice([f"-{key}: {low} +{key}: {high}", f"- {key} = {low}\n+ {key} = {high}", f"{key}: {low} -> {high}"])
    words = key.replace("_", " ")
    yield shown, [f"{capital(words)} was raised from {low} to {high}", f"{capital(words)} went up to {high}", f"{capital(words)} used to be {low}"], [
        f"{capital(words)} was lowered from {high} to {low}", f"{capital(words)} went from {high} to {low}", f"{capital(words)} was raised to {high} {rng.choice(REASONS)}", f"{capital(words)} is still {low}"]
    link, forward, backward = rng.choice(LINKS)
    one, other = two(rng, lambda r: rng.choice(["T", "PR", "A", "ID"]) + f"-{rng.randrange(1, 400)}") if link not in ("winner", "sent_to", "reports_to") else two(rng, lambda r: rng.choice(PEOPLE))
    fields = {"id": one, link: other} if rng.random() < 0.7 else {link: [other], "id": one}
    yield dump(rng, fields), [forward.format(a=one, b=other), backward.format(a=one, b=other)], [forward.format(a=other, b=one), backward.format(a=other, b=one), forward.format(a=one, b=other) + " " + rng.choice(REASONS)]
    verb, o, w = rng.choice(VERBS), thing(rng), rng.choice(PEOPLE)
    shown = rng.choice(TODO).format(v=verb[0], o=o)
    yield shown, [f"It remains to {verb[0]} {o}", f"{o} still has to be {verb[3]}", f"There is a note to {verb[0]} {o}"], [f"{o} was {verb[3]}", f"{o} has been {verb[3]}", f"{o} need not be {verb[3]}"]
    state = rng.choice(["open", "pending", "planned", "todo"])
    shown = dump(rng, {"title": capital(f"{verb[0]} {o}"), "state": state})
    yield shown, [f"The task to {verb[0]} {o} is {state}", f"{o} has not been {verb[3]} yet"], [f"{o} has been {verb[3]}", f"{w} {verb[2]} {o}", f"The task to {verb[0]} {o} is done"]
    shown = dump(rng, {"title": capital(f"{verb[0]} {o}"), "state": rng.choice(["done", "closed"])})
    yield shown, [f"The task to {verb[0]} {o} is finished"], [f"The task to {verb[0]} {o} is still open", f"{o} has not been {verb[3]} yet"]
    question = rng.choice([f"Did {w} {verb[0]} {o}?", f"Could you check whether {w} {verb[2]} {o}?", f"Who {verb[2]} {o}?"])
    yield question, [f"It is asked who {verb[2]} {o}"] if question.startswith("Who") else [f"It is asked whether {w} {verb[2]} {o}"], [f"{w} {verb[2]} {o}", f"{w} did not {verb[0]} {o}", f"{o} was {verb[3]}"]
    shown = sentence(rng.choice(forms(verb, who(rng), o)))
    yield shown, [], [rng.choice(ORDERS).format(w=w, o=thing(rng)), rng.choice(ORDERS).format(w=w, o=o)]
    # Reading two values against each other.
    (one, other), what = two(rng, lambda r: r.choice("Monday Tuesday Friday Lyon Bern Turku north south alpha beta gamma".split())), rng.choice(["max_c", "price", "qty", "latency_ms", "votes", "score", "size_kb"])
    shown = dump(rng, {"name": one, what: a}) + "," + dump(rng, {"name": other, what: b})
    more, less = (one, other) if a > b else (other, one)
    word = what.split("_")[0]
    yield shown, [f"{capital(more)} has a higher {word} than {less}", f"The {word} of {less} is lower than that of {more}", f"The {word} of {one} is {a}"], [f"{capital(less)} has a higher {word} than {more}", f"The {word} of {more} is lower than that of {less}", f"The {word} of {one} is {b}", f"The {word} of {other} is {a}"]


def longer(rng):
    """Several sentences, of which the claim is about one."""
    parts, claims = [], []
    for _ in range(rng.randrange(2, 4)):
        make = rng.choice((deeds, relations, states, certainty, quantities))
        found = rng.choice(list(make(rng)))
        parts.append(sentence(found[0]))
        claims.append(found)
    _, good, bad = rng.choice(claims)
    yield " ".join(parts), list(good), list(bad)


def pairs(seed, rounds):
    """(evidence, claim, whether it follows), without repetition."""
    rng, seen, out = random.Random(seed), set(), []
    for _ in range(rounds):
        for make in (deeds, relations, states, certainty, quantities, records, records, settings, longer, longer, longer):
            for shown, good, bad in make(rng):
                structured = make in (records, settings, longer)
                shown = shown if structured else (sentence(shown) if rng.random() < 0.9 else shown)
                rng.shuffle(good), rng.shuffle(bad)
                for claims, follows in ((good[:3], 1), (bad[:4], 0)):
                    for claim in claims:
                        claim = sentence(claim) if rng.random() < 0.95 else claim
                        if (shown, claim) not in seen:
                            seen.add((shown, claim))
                            out.append((shown, claim, follows))
    return out


BEFORE_A_NOUN = {"the", "a", "an", "his", "her", "their", "its"}
LIKE_A_LIST = {"and", "or", "with", "near", "beside", "next", "between", "&"}


SAME = [(" is not ", " isn't "), (" do not ", " don't "), (" did not ", " didn't "), (" it is ", " it's "), (" cannot ", " can not "), (" will not ", " won't ")]


def harmless(rng, words):
    """The same, written a little differently."""
    kind = rng.randrange(5)
    if kind == 0:
        return " ".join(words)
    if kind == 1:
        articles = [at for at, word in enumerate(words) if word.lower() in ("the", "a", "an")]
        gone = rng.choice(articles) if articles else None
        return " ".join(word for at, word in enumerate(words) if at != gone)
    if kind == 2:
        return " ".join({"the": "this", "a": "one"}.get(word, word) if rng.random() < 0.5 else word for word in words)
    text = " ".join(words)
    if kind == 3:
        for one, other in SAME:
            text = text.replace(one, other) if one in text else text.replace(other, one)
        return text
    return rng.choice(["It says that ", "The text says that ", "It is noted that "]) + text[:1].lower() + text[1:]


def perturbed(sentences, seed):
    """Sentences against themselves: with two nouns exchanged or one replaced, and with what changes nothing."""
    rng, out, nouns, before = random.Random(seed), [], [], "Nothing else is known."
    for text in sentences:
        words = text.split()
        if rng.random() < 0.5:
            out.append((rng.choice([text, f"{text} {before}", f"{before} {text}"]), harmless(rng, words), 1))
        before = text
        places = [at + 1 for at, word in enumerate(words[:-1]) if word.lower() in BEFORE_A_NOUN and words[at + 1].strip(".,").isalpha()]
        nouns += [words[at].strip(".,").lower() for at in places]
        kind = rng.random()
        if len(places) >= 2 and kind < 0.6:
            one, other = sorted(rng.sample(places, 2))
            bare = lambda at: words[at].strip(".,")
            if bare(one).lower() == bare(other).lower() or LIKE_A_LIST & {word.lower().strip(".,") for word in words[one:other]}:
                continue
            made = list(words)
            made[one], made[other] = words[one].replace(bare(one), bare(other)), words[other].replace(bare(other), bare(one))
            out.append((text, " ".join(made), 0))
        elif places and len(nouns) > 500 and kind < 0.9:
            at = rng.choice(places)
            new = rng.choice(nouns)
            if new not in text.lower():
                made = list(words)
                made[at] = words[at].replace(words[at].strip(".,"), new)
                out.append((text, " ".join(made), 0))
    return out


if __name__ == "__main__":
    made = pairs(1, 12)
    print(len(made), sum(follows for _, _, follows in made))
    for shown, claim, follows in random.Random(2).sample(made, 60):
        print("+" if follows else "-", claim, "|", shown)
