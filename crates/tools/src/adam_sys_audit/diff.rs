//! What has changed between two looks at a machine, item by item. Figures that always move have a tolerance.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hardware::Hardware;
use super::software::Software;

/// Used and free memory, as a part of all memory.
const MEMORY_USE: f64 = 0.1;
/// How much memory the kernel keeps for itself differs from one to the next.
const MEMORY_TOTAL: f64 = 0.01;
const DISK_USE: f64 = 0.01;
const DISK_USE_GB: f64 = 1.0;
/// Where only the present frequency is known.
const FREQUENCY: f64 = 0.1;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct Changes {
    /// What the baseline does not have
    pub(super) added: Vec<Item>,
    /// What only the baseline has
    pub(super) removed: Vec<Item>,
    /// What both have, differently
    pub(super) modified: Vec<Modified>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct Item {
    /// Which: `packages[git]`, `disks[/]`, `gpus[…]`, `python_version`
    pub(super) item: String,
    pub(super) value: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct Modified {
    /// Which: `packages[git]`, `disks[/].size_gb`, `cpu.cores`
    pub(super) item: String,
    pub(super) before: String,
    pub(super) after: String,
}

/// A machine as a list of items, each with the fields that are known of it.
#[derive(Debug, Default)]
pub(super) struct Facts(BTreeMap<String, Fields>);

/// By name; an item that is one value has it under no name.
type Fields = BTreeMap<&'static str, Fact>;

#[derive(Debug, Clone, PartialEq)]
enum Fact {
    Text(String),
    Figure {
        value: f64,
        /// How far it may move without being worth a word.
        slack: f64,
    },
}

impl Facts {
    pub(super) fn changes_to(&self, now: &Self) -> Changes {
        let mut changes = Changes::default();
        for (item, before) in &self.0 {
            match now.0.get(item) {
                Some(after) => compare(item, before, after, &mut changes),
                None => changes.removed.push(Item { item: item.clone(), value: shown(before) }),
            }
        }
        for (item, after) in now.0.iter().filter(|(item, _)| !self.0.contains_key(*item)) {
            changes.added.push(Item { item: item.clone(), value: shown(after) });
        }
        changes
    }

    /// Of several with the same name, the second is `name#2`.
    fn add(&mut self, list: &str, mut named: Vec<(&str, Fields)>) {
        // Whatever order they are listed in.
        named.sort_by_cached_key(|(name, fields)| ((*name).to_owned(), shown(fields)));
        let (mut last, mut count) = (None, 0);
        for (name, fields) in named {
            count = if last == Some(name) { count + 1 } else { 1 };
            last = Some(name);
            let number = if count > 1 { format!("#{count}") } else { String::new() };
            self.0.insert(format!("{list}[{name}]{number}"), fields);
        }
    }

    fn set(&mut self, item: &str, fields: Fields) {
        if !fields.is_empty() {
            self.0.insert(item.to_owned(), fields);
        }
    }
}

impl From<&Hardware> for Facts {
    fn from(hardware: &Hardware) -> Self {
        let Hardware { cpu, gpus, ram_gb, disks, os } = hardware;
        let mut facts = Self::default();
        facts.set("os", text(os));
        let frequency = cpu.frequency_mhz.map(|mhz| ("frequency_mhz", figure(mhz, mhz * FREQUENCY)));
        let counts = [("cores", figure(cpu.cores.into(), 0.0)), ("threads", figure(cpu.threads.into(), 0.0))];
        facts.set("cpu", counts.into_iter().chain(frequency).collect());
        let in_use = ram_gb.total * MEMORY_USE;
        let memory = [
            ("total", figure(ram_gb.total, ram_gb.total * MEMORY_TOTAL)),
            ("used", figure(ram_gb.used, in_use)),
            ("free", figure(ram_gb.free, in_use)),
        ];
        facts.set("ram_gb", memory.into());
        let gpus = gpus.iter().map(|gpu| {
            let vram = gpu.vram_gb.map(|vram| ("vram_gb", figure(vram, 0.0)));
            let driver = gpu.driver_version.clone().map(|version| ("driver_version", Fact::Text(version)));
            (gpu.name.as_str(), vram.into_iter().chain(driver).collect())
        });
        facts.add("gpus", gpus.collect());
        let disks = disks.iter().map(|disk| {
            let slack = (disk.size_gb * DISK_USE).max(DISK_USE_GB);
            let fields = [("size_gb", figure(disk.size_gb, 0.0)), ("used_gb", figure(disk.used_gb, slack))];
            (disk.mount.as_str(), fields.into())
        });
        facts.add("disks", disks.collect());
        facts
    }
}

impl From<&Software> for Facts {
    fn from(software: &Software) -> Self {
        let Software { os_version, kernel, python_version, packages } = software;
        let mut facts = Self::default();
        facts.set("os_version", text(os_version));
        facts.set("kernel", text(kernel));
        facts.set("python_version", python_version.as_deref().map(text).unwrap_or_default());
        let packages = packages.iter().map(|package| {
            let (name, version) = package.split_once("==").unwrap_or((package, ""));
            (name, text(version))
        });
        facts.add("packages", packages.collect());
        facts
    }
}

fn compare(item: &str, before: &Fields, after: &Fields, changes: &mut Changes) {
    let name = |field: &str| if field.is_empty() { item.to_owned() } else { format!("{item}.{field}") };
    for (field, old) in before {
        match after.get(field) {
            Some(new) if old.is_like(new) => {}
            Some(new) => {
                changes.modified.push(Modified { item: name(field), before: old.shown(), after: new.shown() });
            }
            None => changes.removed.push(Item { item: name(field), value: old.shown() }),
        }
    }
    for (field, new) in after.iter().filter(|(field, _)| !before.contains_key(*field)) {
        changes.added.push(Item { item: name(field), value: new.shown() });
    }
}

impl Fact {
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Figure { value, slack }, Self::Figure { value: other, slack: others }) => {
                (value - other).abs() <= slack.max(*others)
            }
            (Self::Text(_), _) | (_, Self::Text(_)) => self == other,
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Figure { value, .. } => value.to_string(),
        }
    }
}

fn text(value: &str) -> Fields {
    Fields::from([("", Fact::Text(value.to_owned()))])
}

fn figure(value: f64, slack: f64) -> Fact {
    Fact::Figure { value, slack }
}

fn shown(fields: &Fields) -> String {
    let field = |(name, fact): (&&str, &Fact)| match *name {
        "" => fact.shown(),
        name => format!("{name} {}", fact.shown()),
    };
    fields.iter().map(field).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
