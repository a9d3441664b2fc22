use countersign_index::Local;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Bullet, Flaw, Grounding, described};

/// The same as `cargo xtask eval grounding` reads; its `final` lines are for that alone.
const LABELLED: &str = include_str!("../../../../xtask/data/ask/claims.jsonl");

#[derive(Deserialize)]
struct Labelled {
    set: String,
    result: Value,
    #[serde(flatten)]
    bullet: Bullet,
    supported: bool,
}

/// The model was trained on these, too: a guard against falling back, not a measure of how good it is.
#[test]
fn what_was_reached_on_the_set_for_tuning_is_kept() {
    let grounding = grounding();
    let (mut kept, mut supported, mut caught, mut unsupported) = (0.0, 0.0, 0.0, 0.0);
    for line in LABELLED.lines() {
        let each: Labelled = serde_json::from_str(line).unwrap();
        if each.set != "tune" {
            continue;
        }
        let passed = f64::from(u8::from(grounding.check_now(&each.result, &each.bullet).is_ok()));
        if each.supported {
            (kept, supported) = (kept + passed, supported + 1.0);
        } else {
            (caught, unsupported) = (caught + 1.0 - passed, unsupported + 1.0);
        }
    }
    assert!(
        kept / supported >= 0.95 && caught / unsupported >= 0.98,
        "{kept} of {supported}, {caught} of {unsupported}"
    );
}

#[test]
fn nothing_makes_up_for_a_number_a_date_or_a_name() {
    let text = "The council bought 12 trams from Skoda on 4 March 2026.";
    let result = json!({ "text": text });
    let check = |claim: &str| grounding().check_now(&result, &bullet(claim, text)).map(|grounded| grounded.pointer);
    assert_eq!(check(text), Ok("/text".to_owned()));
    for (claim, flaw) in [
        ("The council bought 13 trams from Skoda on 4 March 2026.", Flaw::Number("13".to_owned())),
        ("The council bought 12 trams from Skoda on 5 March 2026.", Flaw::Date("5 march 2026".to_owned())),
        ("The council bought 12 trams from Stadler on 4 March 2026.", Flaw::Name("stadler".to_owned())),
        (" ", Flaw::Empty),
    ] {
        assert_eq!(check(claim), Err(flaw), "{claim}");
    }
    // Evidence that repeats the claim's words is still no evidence if it is not there.
    assert_eq!(grounding().check_now(&json!({}), &bullet(text, text)), Err(Flaw::NotThere));
}

#[test]
fn another_notation_is_the_same_number_date_or_name() {
    let carried = |claim: &str, evidence: &str| {
        described(&json!({ "text": evidence }), &bullet(claim, evidence)).unwrap().missing.is_none()
    };
    for (claim, evidence, expected) in [
        ("The note is of July 2022.", "see ops note 2022-07", true),
        ("The note is of August 2022.", "see ops note 2022-07", false),
        ("The limit is four minutes.", "timeout = 240  # seconds", true),
        ("The limit is five minutes.", "timeout = 240  # seconds", false),
        ("It took 6 min 11 s.", "it took 371 s", true),
        ("It took 6 min 12 s.", "it took 371 s", false),
        ("It took 6 minutes, 11 seconds of them idle.", "it took 371 s", false),
        ("The budget is £3,200.", "a budget of 3,200 pounds", true),
        ("The budget is $3,200.", "a budget of 3,200 pounds", false),
        ("The budget is £3,200.", "a load of 3,200 kg", false),
        ("The cost is £2.3 million.", "it costs 2.3 million pounds", true),
        ("It ran for about 96 seconds.", "413 passed in 96.41s", true),
        ("It ran for 96 seconds.", "413 passed in 96.41s", false),
        ("It ran for about 97 seconds.", "413 passed in 96.41s", false),
        ("Some 1,400 people came.", "1,387 people came", true),
        ("Some 1,000 people came.", "1,387 people came", false),
        ("Fees are in CHF.", "fees are in Swiss francs", true),
        ("The clock is at UTC+5:45.", "it keeps UTC+05:45", true),
        ("The clock is at UTC+5:45.", "it keeps UTC+05:30", false),
        ("It has 8 vCPUs.", "\"vcpu\":8", true),
    ] {
        assert_eq!(carried(claim, evidence), expected, "{claim} / {evidence}");
    }
}

#[test]
fn a_claim_is_read_with_the_figures_of_its_evidence() {
    let evidence = "\"files\": 1200, \"last_seen\": \"2026-03-29T00:41:55Z\"";
    let result = json!({"last_seen": "2026-03-29T00:41:55Z", "files": 1200});
    let described = described(&result, &bullet("On 29 March 2026 there were 1,200 files.", evidence));
    assert_eq!(
        described.map(|described| described.claim),
        Ok("On 2026-03-29T00:41:55Z there were 1200 files.".to_owned())
    );
}

#[tokio::test]
async fn waiting_gives_the_same_answer() {
    let result = json!({"open": 2});
    let bullet = bullet("There are two open tasks.", "\"open\": 2");
    assert_eq!(grounding().check(&result, &bullet).await, grounding().check_now(&result, &bullet));
}

fn grounding() -> Grounding {
    Grounding::new(Local::on_all_cores())
}

fn bullet(claim: &str, evidence: &str) -> Bullet {
    Bullet { claim: claim.to_owned(), evidence: evidence.to_owned() }
}
