//! `adam-sys-audit`: what this machine is made of and what runs on it, and how that differs from an earlier look.
//! Nothing in it names a person, a host or a single device, and nothing is remembered from call to call.

mod diff;
mod gpus;
mod hardware;
mod helper;
mod software;

use std::path::PathBuf;
use std::sync::Arc;

use countersign_contract::{
    CallContext, Code, Effect, Example, Mistake, Rejection, Schema, Terms, Tool, ToolError, derive_schema,
};
use schemars::{JsonSchema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;

use self::diff::{Changes, Facts};
use self::hardware::Hardware;
use self::software::Software;

/// Looks at the hardware at a time: one that hangs on a broken disk must not take all threads with it.
const MAX_LOOKS: usize = 4;

/// What an audit asks about beside the machine itself.
#[derive(Debug, Clone, Default)]
pub struct SystemAudit {
    /// Python packages to report.
    pub packages: Vec<String>,
    /// Where programs are looked for, in this order.
    pub search_path: Vec<PathBuf>,
}

pub(super) struct AdamSysAudit {
    about: SystemAudit,
    looks: Arc<Semaphore>,
}

impl AdamSysAudit {
    pub(super) fn new(about: SystemAudit) -> Self {
        Self { about, looks: Arc::new(Semaphore::new(MAX_LOOKS)) }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// `list_hardware`, `list_software`, or `diff_baseline`: what has changed since an earlier answer of one of the two
    command: Command,
    /// `diff_baseline` only, and needed there: a previous output of `list_hardware` or `list_software`, as it was
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Map<String, Value>")]
    baseline: Option<Map<String, Value>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Command {
    ListHardware,
    ListSoftware,
    DiffBaseline,
}

/// One of three answers. They have no key in common, so each can be told by any of its keys.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Output {
    Hardware(Hardware),
    Software(Software),
    Difference(Difference),
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Difference {
    /// `diff_baseline`: how the machine differs from the baseline
    changes: Changes,
}

impl JsonSchema for Output {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Output".into()
    }

    /// One flat object, because clients drop tools with a choice at the root. A key of one answer asks for all the others
    /// of the same answer, and leaves no room for those of another.
    fn json_schema(generator: &mut SchemaGenerator) -> schemars::Schema {
        let answers =
            [Hardware::json_schema(generator), Software::json_schema(generator), Difference::json_schema(generator)];
        let (mut properties, mut together, mut room) = (Map::new(), Map::new(), Map::new());
        for answer in answers {
            let Some(Value::Object(keys)) = answer.get("properties") else { continue };
            let names: Vec<&String> = keys.keys().collect();
            // One is enough: where it is, the others are.
            room.extend(names.first().map(|name| ((*name).clone(), json!({"maxProperties": names.len()}))));
            for (name, schema) in keys {
                properties.insert(name.clone(), schema.clone());
                together.insert(name.clone(), json!(names));
            }
        }
        let schema = json!({
            "type": "object",
            "properties": properties,
            "dependentRequired": together,
            "dependentSchemas": room,
            "minProperties": 1,
            "additionalProperties": false,
        });
        schema.try_into().unwrap_or_default()
    }
}

impl Tool for AdamSysAudit {
    type Input = Input;
    type Output = Output;

    const NAME: &'static str = "adam-sys-audit";
    const TITLE: &'static str = "System audit";
    const DESCRIPTION: &'static str = "Provides information about the system Adam is running on: its hardware, its software, \
                                       and what has changed since an earlier look.";
    const EFFECT: Effect = Effect::ReadsLocal;

    fn terms() -> Terms {
        Terms {
            constraints: vec![
                "Read-only: programs are asked for their version only, without a shell, an environment or input, for 3 \
                 seconds at most",
                "No serial numbers, network addresses, user names, host names or environment values",
                "GB means 1,073,741,824 bytes, to two decimals",
                "`diff_baseline` reports figures that always move only beyond a tolerance: used and free memory 10 % of the \
                 total, total memory 1 %, used disk space 1 GB or 1 % of the disk, whichever is more, CPU frequency 10 %",
            ],
            examples: examples(),
            ..Terms::default()
        }
    }

    async fn call(&self, _ctx: &CallContext, input: Input) -> Result<Output, ToolError> {
        match (input.command, input.baseline) {
            (Command::ListHardware, None) => Ok(Output::Hardware(self.hardware().await?)),
            (Command::ListSoftware, None) => Ok(Output::Software(software::look(&self.about).await)),
            (Command::DiffBaseline, Some(baseline)) => self.compare(Value::Object(baseline)).await,
            (Command::DiffBaseline, None) => Err(invalid("/baseline", "`diff_baseline` needs it").into()),
            (Command::ListHardware | Command::ListSoftware, Some(_)) => {
                Err(invalid("/baseline", "is for `diff_baseline` only").into())
            }
        }
    }
}

impl AdamSysAudit {
    async fn hardware(&self) -> Result<Hardware, ToolError> {
        let Ok(look) = Arc::clone(&self.looks).try_acquire_owned() else {
            let error = "The hardware is being looked at already, and does not answer";
            return Err(Rejection::new(Code::Unavailable, error).into());
        };
        let looking = tokio::task::spawn_blocking(move || {
            let hardware = hardware::look();
            drop(look);
            hardware
        });
        looking.await.map_err(ToolError::internal)?.map_err(ToolError::internal)
    }

    async fn compare(&self, baseline: Value) -> Result<Output, ToolError> {
        let (before, now) = match read_baseline(baseline)? {
            Baseline::Hardware(before) => (Facts::from(&before), Facts::from(&self.hardware().await?)),
            Baseline::Software(before) => (Facts::from(&before), Facts::from(&software::look(&self.about).await)),
        };
        Ok(Output::Difference(Difference { changes: before.changes_to(&now) }))
    }
}

enum Baseline {
    Hardware(Hardware),
    Software(Software),
}

/// Any key tells which of the two it is meant to be; then all of it has to be right.
fn read_baseline(value: Value) -> Result<Baseline, Rejection> {
    let (hardware, software) = (derive_schema::<Hardware>(), derive_schema::<Software>());
    let resembles = |schema: &Value| {
        let known = schema["properties"].as_object();
        known.is_some_and(|known| known.keys().any(|key| value.get(key).is_some()))
    };
    if resembles(&hardware) {
        check_baseline(hardware, &value)?;
        parse(value).map(Baseline::Hardware)
    } else if resembles(&software) {
        check_baseline(software, &value)?;
        parse(value).map(Baseline::Software)
    } else {
        Err(invalid("/baseline", "is neither an output of `list_hardware` nor one of `list_software`"))
    }
}

fn check_baseline(schema: Value, value: &Value) -> Result<(), Rejection> {
    // The contract's own parts, compiled before: only a mistake of ours could be in the way, and parsing finds the rest.
    let Ok(schema) = Schema::compile(schema) else { return Ok(()) };
    let below = |mistake: Mistake| Mistake { path: format!("/baseline{}", mistake.path), ..mistake };
    let mistakes: Vec<_> = schema.mistakes(value).into_iter().map(below).collect();
    if mistakes.is_empty() { Ok(()) } else { Err(Rejection::invalid("Invalid parameters", &mistakes)) }
}

fn parse<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, Rejection> {
    serde_json::from_value(value).map_err(|error| invalid("/baseline", &error.to_string()))
}

fn invalid(path: &str, message: &str) -> Rejection {
    let mistake = Mistake { path: path.to_owned(), message: message.to_owned(), keyword: "required".to_owned() };
    Rejection::invalid("Invalid parameters", &[mistake])
}

fn examples() -> Vec<Example> {
    let software = json!({
        "os_version": "Debian GNU/Linux 13 (trixie)",
        "kernel": "6.12.48-amd64",
        "python_version": "3.13.5",
        "packages": ["countersign==0.1.0", "git==2.47.3", "python==3.13.5"],
    });
    vec![
        Example {
            title: "List the hardware",
            input: json!({"command": "list_hardware"}),
            output: json!({
                "cpu": {"cores": 8, "threads": 16, "frequency_mhz": 4200.0},
                "gpus": [{"name": "NVIDIA GeForce RTX 4070", "vram_gb": 11.99, "driver_version": "580.82.09"}],
                "ram_gb": {"total": 31.25, "used": 12.5, "free": 18.75},
                "disks": [{"mount": "/", "size_gb": 915.81, "used_gb": 302.14}],
                "os": "linux",
            }),
            varies: vec!["/cpu", "/gpus", "/ram_gb", "/disks", "/os"],
            ..Example::default()
        },
        Example {
            title: "List the software",
            input: json!({"command": "list_software"}),
            output: software.clone(),
            varies: vec!["/os_version", "/kernel", "/python_version", "/packages"],
            ..Example::default()
        },
        Example {
            title: "See what has changed since then",
            input: json!({"command": "diff_baseline", "baseline": software}),
            output: json!({
                "changes": {
                    "added": [{"item": "packages[node]", "value": "22.20.0"}],
                    "removed": [],
                    "modified": [{"item": "packages[git]", "before": "2.47.3", "after": "2.51.0"}],
                },
            }),
            varies: vec!["/changes"],
            ..Example::default()
        },
    ]
}

#[cfg(test)]
mod tests;
