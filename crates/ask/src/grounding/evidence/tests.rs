use serde_json::{Value, json};

use super::locate;

#[test]
fn quotations_and_where_they_are() {
    let result = json!({
        "title": "A \"quoted\" title",
        "lines": ["first line\n  second line", "über"],
        "count": 210,
        "open": false,
        "a/b": {"~": "x"},
        "list": [1, 200],
        "path": "C:\\new\n",
    });
    for (quotation, pointer) in [
        ("first line second", Some("/lines/0")),
        ("first line\\n  second line", Some("/lines/0")),
        ("A \\\"quoted\\\" title", Some("/title")),
        ("\"title\": \"A \\\"quoted\\\" title\"", Some("")),
        ("\"title\": \"A \"quoted\" title\"", Some("")),
        ("\\u00fcber", Some("/lines/1")),
        ("\"count\": 210", Some("")),
        ("\"count\" : 210 , \"lines\" : [ \"first line\\n  second line\"", Some("")),
        ("\"list\": [1, 200]", Some("")),
        ("[1,", Some("/list")),
        ("200", Some("/list/1")),
        ("210", Some("/count")),
        ("21", None),
        ("2 10", None),
        ("\"open\":false", Some("")),
        ("\"open\": fal se", None),
        ("x", Some("/a~1b/~0")),
        ("C:\\\\new", Some("/path")),
        ("C:\\new", Some("/path")),
        ("\"path\": \"C:\\\\new\\n\"", Some("")),
        ("\"path\": \"C:\\\\new\"", Some("")),
        ("second line first", None),
        ("first line … second line", None),
        ("", None),
        (" \n", None),
    ] {
        assert_eq!(locate(&result, quotation).as_deref(), pointer, "{quotation}");
    }
}

/// Text, and the part of it that says something else or nothing by itself.
const CUT: [(&str, &str); 61] = [
    ("There are 210 open tasks in the queue.", "There are 21"),
    ("There are 210 open tasks in the queue.", "10 open tasks in the queue."),
    ("The token is invalid and expired.", "valid and expired"),
    ("It is an unsafe method for all users.", "safe method for all users"),
    ("The temperature fell by 1.5 degrees.", "The temperature fell by 1"),
    ("The temperature fell by 1.5 degrees.", "The temperature fell by 1."),
    ("The temperature fell by 1.5 degrees.", ".5 degrees"),
    ("The temperature fell by 1.5 degrees.", "5 degrees"),
    ("There are 1,000 tasks.", "There are 1"),
    ("There are 1,000 tasks.", "000 tasks"),
    ("There are 1'000 tasks.", "There are 1"),
    ("There are 1\u{a0}000 tasks.", "There are 1"),
    ("There are 1\u{202f}000 tasks.", "000 tasks"),
    ("There are 1_000 tasks.", "There are 1"),
    ("The value is -5 here.", "5 here"),
    ("The value is -5 here.", "The value is -"),
    ("The value is \u{2212}5 here.", "5 here"),
    ("The value is -$5 here.", "$5 here"),
    ("The value is $-5 here.", "5 here"),
    ("The value is $5 here.", "5 here"),
    ("The value is -.5 here.", ".5 here"),
    ("The value is .5 here.", "5 here"),
    ("The value is ±5 here.", "5 here"),
    ("The value is ~5 here.", "5 here"),
    ("The value is <5 here.", "5 here"),
    ("The value is 5% here.", "The value is 5"),
    ("The value is 5€ here.", "The value is 5"),
    ("The value is 20°C here.", "The value is 20"),
    ("The value is 5+ here.", "The value is 5"),
    ("-5", "5"),
    ("It takes 3-5 days.", "It takes 3"),
    ("It takes 3-5 days.", "5 days"),
    ("It takes 3–5 days.", "It takes 3"),
    ("It is out on 2026-03-29.", "It is out on 2026"),
    ("It is out on 2026-03-29.", "03-29"),
    ("It starts at 10:30.", "It starts at 10"),
    ("It is 1/2 of them.", "2 of them"),
    ("Version 1.2.3 is out.", "Version 1.2"),
    ("Version 1.2.3 is out.", "2.3 is out"),
    ("Version v1.2.3-beta is out.", "1.2.3"),
    ("Version v1.2.3-beta is out.", "Version v1.2.3"),
    ("It takes 1.5e-3 seconds.", "It takes 1.5"),
    ("It takes 1.5e-3 seconds.", "3 seconds"),
    ("They can't be closed.", "They can"),
    ("They can’t be closed.", "They can"),
    ("This isn't valid.", "This is"),
    ("It is non-toxic.", "toxic"),
    ("It is non\u{2011}toxic.", "toxic"),
    ("It is not_ready now.", "ready now"),
    ("The upgrade is now notable.", "The upgrade is now not able."),
    ("The upgrade is now notable.", "The upgrade is nownotable."),
    ("The upgrade is now notable.", "The upgrade is now not"),
    ("No one knows.", "Noone knows."),
    ("It is 2 10 times.", "It is 210 times."),
    ("Die Tür ist unverschlossen.", "verschlossen"),
    ("Дверь не открыта, нет.", "Дверь не открыт"),
    ("Le cafe\u{301} est ouvert.", "Le cafe"),
    ("서울에서 왔다", "서울"),
    ("温度は-5度です", "5度です"),
    ("タスクは210件です", "タスクは21"),
    ("タスクは２１０件です", "１０件です"),
];

#[test]
fn what_is_cut_out_of_a_word_or_a_number_is_no_quotation() {
    for (text, quotation) in CUT {
        for (result, form) in in_forms(text) {
            assert_eq!(locate(&result, quotation), None, "{quotation} in {form}");
            // As the JSON that it is part of, too.
            let labelled = format!("\"text\": \"{quotation}");
            assert_eq!(locate(&result, &labelled), None, "{labelled} in {form}");
        }
        let again = format!("{text} Again: ({quotation}).");
        assert_eq!(
            locate(&json!({"text": again}), quotation).as_deref(),
            Some("/text"),
            "another one is whole: {again}"
        );
    }
}

#[test]
fn whole_words_and_numbers_are() {
    for (text, quotation) in [
        ("There are 210 open tasks.", "There are 210"),
        ("There are 210 open tasks.", "210 open"),
        ("There are 21.", "There are 21"),
        ("There are 21, no more.", "There are 21"),
        ("There are 21; 5 are old.", "21"),
        ("They are 1, 2 and 3.", "1, 2"),
        ("The value is -5 here.", "-5 here"),
        ("The value is -5 here.", "-5"),
        ("The value is 1.5.", "1.5"),
        ("The value is 1.5.", "The value is 1.5."),
        ("It costs $5.", "$5"),
        ("It takes 3-5 days.", "3-5 days"),
        ("It takes 3 - 5 days.", "5 days"),
        ("- 5 are open", "5 are open"),
        ("(5) \"valid\"", "valid"),
        ("(5) 'valid' it says", "valid"),
        ("It is **valid**, really.", "valid"),
        ("one—two", "two"),
        ("Wait... 5 more", "5 more"),
        ("docs/README.md says so", "README.md says so"),
        ("Hans Keller's mill.", "Hans Keller's mill"),
        ("invalid or valid", "valid"),
        ("210 or 21", "21"),
        ("這個方法不是安全的。", "安全"),
        ("タスクは210件です", "210件"),
        ("タスクは210件です", "タスクは210"),
        ("タスクは210件です", "件です"),
        ("ราคา 5 บาทเท่านั้น", "บาท"),
        ("二〇二六年三月", "二六年"),
        ("使用API接口", "API"),
    ] {
        for (result, form) in in_forms(text) {
            assert!(locate(&result, quotation).is_some(), "{quotation} in {form}");
        }
    }
}

/// Any two neighbours that are letters or digits of a spaced script are one.
#[test]
fn no_word_and_no_number_is_ever_cut() {
    for word in ["invalid", "210", "v2", "größer", "Привет", "1.25", "1,000,000", "1.2.3", "-5", "-1.5", "x-y", "isn't"]
    {
        let text = format!("see {word} there");
        let places: Vec<usize> = word.char_indices().map(|(at, _)| at).skip(1).collect();
        for at in places {
            for cut in [&word[..at], &word[at..]] {
                assert_eq!(locate(&json!([text]), cut), None, "{cut} of {word}");
                assert_eq!(locate(&json!([text]), &format!("see {cut}")), None, "see {cut} of {word}");
                assert_eq!(locate(&json!([text]), &format!("{cut} there")), None, "{cut} there of {word}");
            }
        }
        assert_eq!(locate(&json!([text]), word).as_deref(), Some("/0"), "{word}");
    }
    for number in ["210", "-5", "1.5", "-1.5", "1e300"] {
        let value: Value = serde_json::from_str(number).unwrap();
        let written = value.to_string();
        for at in 1..written.len() {
            for cut in [&written[..at], &written[at..]] {
                assert_eq!(locate(&json!({"n": value}), cut), None, "{cut} of {written}");
            }
            let labelled = format!("\"n\": {}", &written[..at]);
            assert_eq!(locate(&json!({"n": value}), &labelled), None, "{labelled} of {written}");
        }
        assert_eq!(locate(&json!({"n": value}), &written).as_deref(), Some("/n"));
    }
}

/// Texts and quotations of this length come from servers and models; a search over all places and signs would not end.
#[test]
fn long_texts_that_repeat_themselves_take_no_time() {
    let text = "a ".repeat(500_000);
    let quotation = format!("{}b", "a ".repeat(100_000));
    assert_eq!(locate(&json!({"text": text, "more": text}), &quotation), None);
    let quotation = format!("{}aa", "a ".repeat(100_000));
    assert_eq!(locate(&json!({"text": text, "more": text}), &quotation), None);
}

/// By itself, in a sentence of its own, and deeper down.
fn in_forms(text: &str) -> Vec<(Value, String)> {
    let forms = [json!({"text": text}), json!([{"text": text, "count": 7}]), json!({"text": format!("{text}\n")})];
    forms.into_iter().map(|form| (form.clone(), form.to_string())).collect()
}
