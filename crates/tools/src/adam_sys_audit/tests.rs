//! The contract against real looks at this machine, and baselines that are none.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use countersign_contract::{Access, CallContext, Caller, Client, Code, Contract, Progress, Tool as _, ToolError};
use serde_json::{Value, json};

use super::{AdamSysAudit, Input, SystemAudit};

async fn call(arguments: Value) -> Result<Value, ToolError> {
    let search_path = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from).to_vec();
    let audit = SystemAudit { packages: vec!["pip".to_owned(), "no-such-package".to_owned()], search_path };
    let caller = Arc::new(Caller { name: "test".into(), access: Access::All, approver: false });
    let ctx = CallContext::new(
        caller,
        Duration::from_secs(30),
        tokio_util::sync::CancellationToken::new(),
        Progress::default(),
        Client::default(),
    );
    let input: Input = serde_json::from_value(arguments).unwrap();
    let output = AdamSysAudit::new(audit).call(&ctx, input).await?;
    let value = AdamSysAudit::to_value(output).unwrap();
    assert_fits(&value);
    Ok(value)
}

/// A look at any machine: this one, or one that is kept as a file.
fn assert_fits(value: &Value) {
    let contract = Contract::of::<AdamSysAudit>().unwrap();
    assert_eq!(contract.result_mistakes(value), [], "{value}");
    let read: super::Output = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), *value);
}

#[tokio::test]
async fn this_machine_has_hardware() {
    let found = call(json!({"command": "list_hardware"})).await.unwrap();
    let (cores, threads) = (found["cpu"]["cores"].as_u64().unwrap(), found["cpu"]["threads"].as_u64().unwrap());
    assert!(1 <= cores && cores <= threads, "{found}");
    let ram = |key: &str| found["ram_gb"][key].as_f64().unwrap();
    assert!(ram("total") > 0.1 && (ram("used") + ram("free") - ram("total")).abs() < 0.05, "{found}");
    let disks = found["disks"].as_array().unwrap();
    assert!(disks.iter().any(|disk| disk["mount"] == "/" && disk["size_gb"].as_f64() > Some(0.1)), "{found}");
    assert_eq!(found["os"], std::env::consts::OS);
}

#[tokio::test]
async fn this_machine_has_software() {
    let found = call(json!({"command": "list_software"})).await.unwrap();
    let packages: Vec<&str> = found["packages"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let own = concat!("countersign==", env!("CARGO_PKG_VERSION"));
    assert!(packages.contains(&own) && packages.is_sorted(), "{found}");
    assert!(packages.iter().any(|package| package.starts_with("bash==")), "{found}");
    assert!(!packages.iter().any(|package| package.starts_with("no-such-package")), "{found}");
    if let Some(version) = found["python_version"].as_str() {
        assert!(packages.contains(&format!("python=={version}").as_str()), "{found}");
    }
}

#[tokio::test]
async fn what_was_just_seen_has_not_changed() {
    let software = call(json!({"command": "list_software"})).await.unwrap();
    let same = call(json!({"command": "diff_baseline", "baseline": software})).await.unwrap();
    assert_eq!(same, json!({"changes": {"added": [], "removed": [], "modified": []}}));
    let mut hardware = call(json!({"command": "list_hardware"})).await.unwrap();
    hardware["os"] = json!("plan9");
    hardware["disks"] = json!([]);
    let changed = call(json!({"command": "diff_baseline", "baseline": hardware})).await.unwrap();
    let os = json!({"item": "os", "before": "plan9", "after": std::env::consts::OS});
    assert!(changed["changes"]["modified"].as_array().unwrap().contains(&os), "{changed}");
    assert!(changed["changes"]["added"][0]["item"].as_str().unwrap().starts_with("disks["), "{changed}");
}

#[tokio::test]
async fn what_is_no_baseline_is_refused_with_every_mistake() {
    let hardware = json!({"cpu": {"cores": "four"}, "gpus": [], "ram_gb": {}, "disks": [{"mount": 7}], "os": "linux"});
    let software = json!({"os_version": "x", "kernel": "y", "packages": ["git"]});
    for (arguments, paths) in [
        (json!({"command": "diff_baseline"}), vec!["/baseline"]),
        (json!({"command": "diff_baseline", "baseline": {}}), vec!["/baseline"]),
        (json!({"command": "diff_baseline", "baseline": {"changes": {}}}), vec!["/baseline"]),
        (
            json!({"command": "diff_baseline", "baseline": {"os": "linux", "kernel": "x"}}),
            vec!["/baseline/cpu", "/baseline/kernel"],
        ),
        (
            json!({"command": "diff_baseline", "baseline": hardware}),
            vec!["/baseline/cpu/cores", "/baseline/disks/0/mount"],
        ),
        (
            json!({"command": "diff_baseline", "baseline": software}),
            vec!["/baseline/packages/0", "/baseline/python_version"],
        ),
        (json!({"command": "list_hardware", "baseline": {}}), vec!["/baseline"]),
        (json!({"command": "list_software", "baseline": {}}), vec!["/baseline"]),
    ] {
        let Err(ToolError::Rejected(rejection)) = call(arguments.clone()).await else { panic!("{arguments}") };
        assert_eq!(rejection.code, Code::ValidationError, "{arguments}");
        let details = rejection.details.unwrap();
        for path in paths {
            assert!(details.as_array().unwrap().iter().any(|mistake| mistake["path"] == path), "{path} in {details}");
        }
    }
}

#[test]
fn answers_do_not_mix() {
    let contract = Contract::of::<AdamSysAudit>().unwrap();
    let outputs: Vec<Value> = super::examples().into_iter().map(|example| example.output).collect();
    let [hardware, software, changes] = outputs.try_into().unwrap();
    let merged = |one: &Value, other: &Value| {
        let both = one.as_object().unwrap().iter().chain(other.as_object().unwrap());
        Value::Object(both.map(|(key, value)| (key.clone(), value.clone())).collect())
    };
    for (what, mixed) in [
        ("nothing", json!({})),
        ("hardware and software", merged(&hardware, &software)),
        ("software and changes", merged(&software, &changes)),
        ("changes and hardware", merged(&changes, &hardware)),
    ] {
        assert!(!contract.success.is_valid(&mixed), "{what}");
    }
    for (whole, key) in [(&hardware, "disks"), (&software, "python_version")] {
        let mut part = whole.clone();
        part.as_object_mut().unwrap().remove(key);
        assert!(contract.success.is_valid(whole) && !contract.success.is_valid(&part), "without {key}");
    }
}

/// What the tool said on a machine with such a card.
#[test]
fn a_machine_with_an_nvidia_card_fits() {
    let said: Value = serde_json::from_str(include_str!("fixtures/nvidia.json")).unwrap();
    assert_fits(&said);
    assert_eq!(said["gpus"], json!([{"name": "NVIDIA H200", "vram_gb": 140.4, "driver_version": "580.159.04"}]));
}
