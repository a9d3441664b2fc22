use countersign_contract::Effect;
use jiff::civil::date;
use serde_json::{Value, json};

use super::super::question::Question;
use super::super::tool::{Texts, Tool};
use super::super::{Example, Offer};
use super::{Filling, fill};

#[test]
fn values_of_all_kinds() {
    for (parameter, question, expected) in [
        ("count: integer", "give me 12 of them", json!(12)),
        ("count: integer", "a dozen of them", json!(12)),
        ("amount: number", "that makes $1,250.50", json!(1250.5)),
        ("population: integer", "a town of 2.5 million people", json!(2_500_000)),
        ("rate: number", "an interest of 5%", json!(0.05)),
        ("year: integer", "what happened on 4 July 1976?", json!(1976)),
        ("hour: integer", "wake me at 7 pm", json!(19)),
        ("temperature: number", "it is -3.5 degrees outside", json!(-3.5)),
        ("url: string", "open www.example.org/a.", json!("https://www.example.org/a")),
        ("email: string", "write to ada@example.org, please", json!("ada@example.org")),
        ("path: string", "what is in src/lib.rs?", json!("src/lib.rs")),
        ("path: string", "show .env", json!(".env")),
        ("file_pattern: glob string", "look at all python files", json!("**/*.py")),
        ("file_pattern: glob string", "in all .yaml files", json!("**/*.yaml")),
        ("date: string", "on March 5th, 2024", json!("2024-03-05")),
        ("date: string", "on 24/12/2024", json!("2024-12-24")),
        ("date: string in the format MM/DD/YYYY", "on the 5th of March", json!("03/05/2026")),
        ("date: string in the format YYYY-MM-DD", "tomorrow", json!("2026-11-17")),
        ("date: string in the format YYYY-MM-DD", "next monday", json!("2026-11-23")),
        ("time: string", "at half past, no, at 4:30 in the afternoon", json!("16:30")),
        ("timezone: string", "what time is it in New York?", json!("America/New_York")),
        ("timezone: string", "what time is it in Osaka?", json!("Asia/Tokyo")),
        ("currency: string", "how much is that in Swiss francs?", json!("CHF")),
        ("city: string", "the weather in San Francisco", json!("San Francisco")),
        ("location: string, city and state (City, State)", "the weather in Boston", json!("Boston, MA")),
        ("artist: string", "songs by Nina Simone", json!("Nina Simone")),
        ("task_id: string", "close the task T-104", json!("T-104")),
        ("revision: string", "show HEAD~2", json!("HEAD~2")),
        ("message: string", "say \"good morning\" to everybody", json!("good morning")),
        ("pattern: string", "search for parse_config", json!("parse_config")),
        ("query: string", "search for the history of tea", json!("history of tea")),
        ("settings: object", "use {\"depth\": 2}", json!({"depth": 2})),
        ("path: string", "what is in the Makefile?", json!("Makefile")),
        ("file_pattern: glob string", "look in src/legacy", json!("src/legacy/**")),
        ("pattern: string", "where is parseInvoice called?", json!("parseInvoice")),
        ("revision: string", "show deadbeef", json!("deadbeef")),
        ("url: string", "visit example.org", json!("https://example.org")),
        ("title: string", "remind me to call mom", json!("call mom")),
        ("title: string", "I have to water the plants, put that on my list", json!("water the plants")),
        ("url: string", "open https://example.org/Ada_(language)", json!("https://example.org/Ada_(language)")),
        ("url: string", "the page (https://example.org/a), please", json!("https://example.org/a")),
        ("time: string", "half past seven in the evening", json!("19:30")),
        ("time: string", "a quarter to nine", json!("08:45")),
        ("time: string", "ten past 8 am", json!("08:10")),
        ("time: string", "five o'clock in the afternoon", json!("17:00")),
        ("since_date: string, relative or not", "starting 2 weeks ago", json!("2 weeks ago")),
        ("path: string", "list the current directory", json!(".")),
        ("path: string", "what is in VERSION?", json!("VERSION")),
        ("target: string", "changes since tag 2024.10", json!("2024.10")),
        ("pattern: string", "lines that match \\w+Controller, case-sensitively", json!("\\w+Controller")),
        ("query: string", "hunt for the term budget", json!("budget")),
        ("query: string", "something is about tea - search for it", json!("tea")),
        ("query: string", "is there a query that mentions tea?", json!("tea")),
        ("query: string", "why is tea hot? Look through the query list only.", json!("why is tea hot")),
        ("limit: integer", "50 per page, after 150", json!(50)),
        ("revision: string, a commit", "show the newest commit in full", json!("HEAD")),
        ("revision: string, a commit", "show the commit deadbeef", json!("deadbeef")),
        ("target: string, commits to compare", "diff between main and release/2.1", json!("main..release/2.1")),
        ("target: string, commits to compare", "what changed from v0.9.0 to v0.10.0?", json!("v0.9.0..v0.10.0")),
        ("target: string, commits to compare", "compare commits 3fa9c1e and b07d225", json!("3fa9c1e..b07d225")),
        ("target: string, commits to compare", "compare it with v0.9.0", json!("v0.9.0")),
        ("pattern: string, a regex", "find the literal text FIXME(ana)", json!("FIXME\\(ana\\)")),
        ("pattern: string, a regex", "what calls `set_timeout(`?", json!("set_timeout\\(")),
        ("pattern: string, a regex", "search for `fn \\w+\\(`", json!("fn \\w+\\(")),
        ("pattern: string, a regex", "search for 10\\.0\\.\\d+", json!("10\\.0\\.\\d+")),
        ("pattern: string, a regex", "lines beginning with 'export default'", json!("^export default")),
        ("pattern: string, a regex", "lines that end in \"-- TODO\"", json!("-- TODO$")),
        ("pattern: string", "find the literal text FIXME(ana)", json!("FIXME(ana)")),
        ("file_pattern: glob string", "look at the tsx files", json!("**/*.tsx")),
    ] {
        let (name, _) = parameter.split_once(": ").unwrap();
        let schema = json!({"properties": {name: described(parameter)}, "required": [name]});
        assert_eq!(filled(&schema, question).arguments.get(name), Some(&expected), "{parameter} | {question}");
    }
}

#[test]
fn values_by_name() {
    let schema = json!({
        "properties": {
            "repo_path": {"type": "string"}, "max_count": {"type": "integer"}, "title": {"type": "string"},
            "force": {"type": "boolean"}, "labels": {"type": "array", "items": {"type": "string"}},
        },
        "required": [],
    });
    for (question, expected) in [
        ("log repo_path=/srv/app max_count=3", json!({"repo_path": "/srv/app", "max_count": 3})),
        ("log --max-count 7", json!({"max_count": 7})),
        ("new one, title: Buy milk, and bread", json!({"title": "Buy milk, and bread"})),
        ("force: yes", json!({"force": true})),
        ("labels: \"a b\" and \"c\"", json!({"labels": ["a b", "c"]})),
        ("labels: \"a b\"", json!({"labels": ["a b"]})),
        ("labels=[\"a\", \"b\"]", json!({"labels": ["a", "b"]})),
        ("change the title of number 2 to Buy oat milk.", json!({"title": "Buy oat milk"})),
        ("rename number 2 to Buy oat milk instead", json!({"title": "Buy oat milk"})),
        ("the title of number 2 should read: Buy oat milk", json!({"title": "Buy oat milk"})),
        ("remove the title of number 2", json!({"title": ""})),
        ("retitle number 2: Buy oat milk", json!({"title": "Buy oat milk"})),
        ("log -n 7", json!({"max_count": 7})),
    ] {
        assert_eq!(Value::from(filled(&schema, question).arguments), expected, "{question}");
    }
}

#[test]
fn enumerations_and_switches() {
    let schema = json!({
        "properties": {
            "status": {"type": "string", "enum": ["all", "pending", "completed"]},
            "days": {"type": "array", "items": {"type": "string", "enum": ["Monday", "Tuesday", "Friday"]}},
            "service": {"type": "integer", "description": "1 represents cleaning, 2 for ironing."},
            "include_drafts": {"type": "boolean"},
            "include_deps": {"type": "boolean"},
            "mode": {"type": "string", "description": "Either 'fast' or 'thorough'."},
        },
        "required": [],
    });
    for (question, expected) in [
        ("which are completed?", json!({"status": "completed"})),
        ("which are still unfinished?", json!({"status": "pending"})),
        ("on friday and monday", json!({"days": ["Friday", "Monday"]})),
        ("book ironing", json!({"service": 2})),
        ("with drafts", json!({"include_drafts": true})),
        ("not the drafts", json!({"include_drafts": false})),
        ("a thorough look", json!({"mode": "thorough"})),
        ("look -t", json!({"mode": "thorough"})),
        ("both pending and completed ones", json!({"status": "all"})),
        ("leave the drafts out", json!({"include_drafts": false})),
        ("plus its direct dependancies", json!({"include_deps": true})),
        ("and pull in what it requires", json!({"include_deps": true})),
    ] {
        let arguments = Value::from(filled(&schema, question).arguments);
        let mut given = arguments.clone();
        given.as_object_mut().unwrap().retain(|name, _| expected.get(name).is_some());
        assert_eq!(given, expected, "{question}: {arguments}");
    }
}

#[test]
fn several_values_find_their_parameters() {
    let text = json!({"type": "string"});
    for (schema, question, expected) in [
        (
            json!({"properties": {"origin": text, "destination": text}, "required": ["origin", "destination"]}),
            "a train to Lyon from Paris",
            json!({"origin": "Paris", "destination": "Lyon"}),
        ),
        (
            json!({"properties": {"principal": {"type": "number"}, "years": {"type": "integer"}},
                   "required": ["principal", "years"]}),
            "a loan over 10 years of $5000",
            json!({"principal": 5000, "years": 10}),
        ),
        (
            json!({"properties": {"source_timezone": text, "time": text, "target_timezone": text},
                   "required": ["source_timezone", "time", "target_timezone"]}),
            "what is 14:00 London time in Tokyo?",
            json!({"source_timezone": "Europe/London", "time": "14:00", "target_timezone": "Asia/Tokyo"}),
        ),
        (
            json!({"properties": {"files": {"type": "array", "items": text}, "repo_path": text},
                   "required": ["repo_path", "files"]}),
            "stage a.txt and b.txt in /srv/app",
            json!({"files": ["a.txt", "b.txt"], "repo_path": "/srv/app"}),
        ),
        (
            json!({"properties": {"numbers": {"type": "array", "items": {"type": "integer"}}}, "required": ["numbers"]}),
            "the mean of 3, 5 and 8",
            json!({"numbers": [3, 5, 8]}),
        ),
        (
            json!({"properties": {"entities": {"type": "array", "items": {
                "properties": {"name": text, "entityType": text, "observations": {"type": "array", "items": text}},
                "required": ["name", "entityType", "observations"]}}}, "required": ["entities"]}),
            "create Ada (person) and Zuse (company) without observations",
            json!({"entities": [{"name": "Ada", "entityType": "person", "observations": []},
                                {"name": "Zuse", "entityType": "company", "observations": []}]}),
        ),
        (
            json!({"properties": {"entities": {"type": "array", "items": {
                "properties": {"name": text, "entityType": text}, "required": ["name", "entityType"]}}},
                   "required": ["entities"]}),
            "put a person called Ada in",
            json!({"entities": [{"name": "Ada", "entityType": "person"}]}),
        ),
        (
            json!({"properties": {"branch": text, "base": text}, "required": ["branch"]}),
            "a branch T-104 based on release/5.1",
            json!({"branch": "T-104", "base": "release/5.1"}),
        ),
        (
            json!({"properties": {"entityName": text, "contents": {"type": "array", "items": text}},
                   "required": ["entityName", "contents"]}),
            "a new observation on node Oslo office: has 40 desks",
            json!({"entityName": "Oslo office", "contents": ["has 40 desks"]}),
        ),
    ] {
        let filling = filled(&schema, question);
        assert_eq!((Value::from(filling.arguments), filling.missing), (expected, vec![]), "{question}");
    }
}

#[test]
fn relations_between_names() {
    let text = json!({"type": "string"});
    let schema = json!({
        "properties": {"relations": {"type": "array", "items": {
            "properties": {"from": text, "to": text, "relationType": text}, "required": ["from", "to", "relationType"],
        }}},
        "required": ["relations"],
    });
    let relations = json!([{"from": "Ada", "to": "Zuse", "relationType": "knows"}]);
    for question in [
        "Ada knows Zuse",
        "relate Ada to Zuse with type knows",
        "a relation of type knows from Ada to Zuse",
        "to Zuse from Ada, relation knows",
        "the knows relation between Ada and Zuse",
        "Ada -> knows -> Zuse",
        "Ada --knows--> Zuse",
        "Ada -[knows]-> Zuse",
    ] {
        assert_eq!(filled(&schema, question).arguments.get("relations"), Some(&relations), "{question}");
    }
    for question in ["remove Ada, Bob and Zuse", "connect Ada and Zuse"] {
        assert_eq!(filled(&schema, question).missing, ["relations"], "{question}");
    }
}

#[test]
fn commands_and_what_they_need() {
    let schema = json!({
        "properties": {
            "command": {"type": "string", "enum": ["read_file", "write_file"]},
            "content": {"type": "string", "description": "`write_file` only, and needed there: the content"},
            "path": {"type": "string"},
        },
        "required": ["command", "path"],
    });
    for (question, command, missing) in [
        ("show a.txt", "read_file", &[][..]),
        ("put \"x\" into a.txt", "write_file", &[]),
        ("truncate a.txt", "write_file", &[]),
        ("replace a.txt", "write_file", &["content"]),
        ("put 1, 2 and 3 into a.txt", "write_file", &[]),
        ("a.txt: read", "read_file", &[]),
    ] {
        let filling = filled(&schema, question);
        assert_eq!(filling.arguments.get("command"), Some(&json!(command)), "{question}");
        assert_eq!(filling.missing, missing, "{question}");
    }
}

#[test]
fn what_is_written() {
    let schema = json!({
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}}, "required": ["path", "content"],
    });
    for (question, content) in [
        ("save the sum as notes/a.txt", "the sum"),
        ("replace whatever is in VERSION with 4.2.0", "4.2.0"),
        ("put {\"port\": 1} into a.json", "{\"port\": 1}"),
        ("create a.txt with two lines: \"Dear Ada,\" and \"bye\"", "Dear Ada,\nbye"),
    ] {
        assert_eq!(filled(&schema, question).arguments.get("content"), Some(&json!(content)), "{question}");
    }
}

#[test]
fn what_is_denied() {
    let text = json!({"type": "string"});
    let schema = json!({"properties": {"contains": text, "not_contains": text}, "required": []});
    for (question, name) in [
        ("branches that contain deadbee", "contains"),
        ("branches that do not contain deadbee", "not_contains"),
        ("branches that lack commit deadbee", "not_contains"),
    ] {
        assert_eq!(Value::from(filled(&schema, question).arguments), json!({name: "deadbee"}), "{question}");
    }
}

#[test]
fn several_relations_and_entities() {
    let text = json!({"type": "string"});
    let list = |fields: Value, required: &[&str]| {
        let items = json!({"type": "object", "properties": fields, "required": required});
        json!({"properties": {"list": {"type": "array", "items": items}}, "required": ["list"]})
    };
    let relations = list(json!({"from": text, "to": text, "relationType": text}), &["from", "to", "relationType"]);
    let entities = list(json!({"name": text, "entityType": text}), &["name", "entityType"]);
    for (schema, question, expected) in [
        (&relations, "a needs_a b and b needs_a c", json!([["a", "needs_a", "b"], ["b", "needs_a", "c"]])),
        (
            &relations,
            "Kyoto -> Japan located_in, Rome -> Italy located_in",
            json!([["Kyoto", "located_in", "Japan"], ["Rome", "located_in", "Italy"]]),
        ),
        (
            &relations,
            "these edges: auth-service --reads--> Oslo office, Ada -> knows -> Eve",
            json!([["auth-service", "reads", "Oslo office"], ["Ada", "knows", "Eve"]]),
        ),
        (
            &relations,
            "edge sits_in from Ada to Oslo office, and the same from Eve to Bergen office",
            json!([["Ada", "sits_in", "Oslo office"], ["Eve", "sits_in", "Bergen office"]]),
        ),
        (
            &entities,
            "two of them, both of type team: Platform and Growth",
            json!([["team", "Platform"], ["team", "Growth"]]),
        ),
    ] {
        let filling = filled(schema, question);
        let objects = filling.arguments.get("list").and_then(Value::as_array).cloned().unwrap_or_default();
        let names = ["from", "entityType", "relationType", "name", "to"];
        let row = |object: &Value| names.iter().filter_map(|name| object.get(name).cloned()).collect::<Value>();
        assert_eq!(objects.iter().map(row).collect::<Value>(), expected, "{question}");
    }
}

#[test]
fn nothing_is_made_up() {
    for (parameter, question) in [
        ("task_id: string", "mark it as done"),
        ("count: integer", "some of them"),
        ("task_id: integer", "it took 5 minutes"),
        ("url: string", "fetch the page"),
        ("date: string", "when does it begin?"),
        ("timezone: string", "what time is it?"),
        ("message: string", "write a message"),
        ("task_id: integer", "delete one of my tasks"),
        ("query: string", "search for something"),
        ("target: string", "compare the current one"),
        ("branch: string", "switch to another branch"),
        ("message: string", "commit the staged stuff"),
    ] {
        let (name, _) = parameter.split_once(": ").unwrap();
        let schema = json!({"properties": {name: described(parameter)}, "required": [name]});
        let filling = filled(&schema, question);
        assert_eq!(filling.missing, [name], "{question}: {:?}", filling.arguments);
    }
}

#[test]
fn a_number_is_a_place_to_go_on_after_if_somebody_goes_on() {
    let after = json!({"type": "integer", "description": "List the tasks after the one with this id"});
    let schema = json!({"type": "object", "properties": {"after": after}});
    for (question, expected) in [
        ("show task 2", json!({})),
        ("what is task 2 about", json!({})),
        ("did I finish task 1?", json!({})),
        ("show the tasks after 40", json!({"after": 40})),
        ("continue the listing from id 240", json!({"after": 240})),
    ] {
        assert_eq!(Value::Object(filled(&schema, question).arguments), expected, "{question}");
    }
}

#[test]
fn examples_explain_values() {
    let schema = json!({
        "properties": {"category": {"type": "string", "enum": ["a", "b"]}}, "required": ["category"],
    });
    let example = |category: &str, output: Value| Example { arguments: json!({"category": category}), output };
    let examples = vec![example("a", json!({"memoryTotal": 1})), example("b", json!({"packages": []}))];
    let filling = filled_with(&schema, examples, "how much memory is there?");
    assert_eq!(Value::from(filling.arguments), json!({"category": "a"}));
}

fn filled(schema: &Value, question: &str) -> Filling {
    filled_with(schema, Vec::new(), question)
}

fn filled_with(schema: &Value, examples: Vec<Example>, question: &str) -> Filling {
    let offer = Offer {
        name: "do".to_owned(),
        description: String::new(),
        input_schema: schema.clone(),
        effect: Effect::Destroys,
        examples,
    };
    let tool = Tool::new(&offer, &Texts::of(&offer));
    fill(&Question::new(question), &tool, date(2026, 11, 16))
}

/// `name: type` with the whole as its description.
fn described(parameter: &str) -> Value {
    let types = ["integer", "number", "string", "object"];
    let of = types.iter().find(|of| parameter.contains(*of)).unwrap();
    json!({"type": of, "description": parameter})
}
