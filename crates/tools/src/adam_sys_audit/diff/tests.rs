//! Whatever two looks show, the difference says exactly that, and nothing where there is none.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Changes, Facts, Item, Modified};
use crate::adam_sys_audit::gpus::Gpu;
use crate::adam_sys_audit::hardware::{Cpu, Disk, Hardware, Ram};
use crate::adam_sys_audit::software::Software;

type Versions = BTreeMap<String, String>;

fn versions() -> impl Strategy<Value = Versions> {
    proptest::collection::btree_map("[a-z]{1,3}", "[0-9]\\.[0-9]", 0..12)
}

fn software(packages: &Versions, python: Option<&str>) -> Software {
    Software {
        os_version: "Debian 13".to_owned(),
        kernel: "6.12".to_owned(),
        python_version: python.map(str::to_owned),
        packages: packages.iter().map(|(name, version)| format!("{name}=={version}")).collect(),
    }
}

fn figure() -> impl Strategy<Value = f64> {
    (0_u32..1_000_000).prop_map(|hundredths| f64::from(hundredths) / 100.0)
}

fn gpu() -> impl Strategy<Value = Gpu> {
    let driver = proptest::option::of("[0-9]{3}\\.[0-9]{2}");
    ("[A-C]", proptest::option::of(figure()), driver).prop_map(|(name, vram_gb, driver_version)| Gpu {
        name,
        vram_gb,
        driver_version,
    })
}

fn disk() -> impl Strategy<Value = Disk> {
    ("/[a-c]", figure(), figure()).prop_map(|(mount, size_gb, used_gb)| Disk { mount, size_gb, used_gb })
}

prop_compose! {
    fn hardware()(
        cores in 1_u32..64,
        frequency_mhz in proptest::option::of(figure()),
        gpus in proptest::collection::vec(gpu(), 0..5),
        (total, used, free) in (figure(), figure(), figure()),
        disks in proptest::collection::vec(disk(), 0..5),
    ) -> Hardware {
        let cpu = Cpu { cores, threads: 2 * cores, frequency_mhz };
        Hardware { cpu, gpus, ram_gb: Ram { total, used, free }, disks, os: "linux".to_owned() }
    }
}

fn changes(before: impl Into<Facts>, now: impl Into<Facts>) -> Changes {
    before.into().changes_to(&now.into())
}

fn package(name: &str, version: &str) -> Item {
    Item { item: format!("packages[{name}]"), value: version.to_owned() }
}

proptest! {
    #[test]
    fn a_thing_does_not_differ_from_itself(hardware in hardware(), packages in versions(), seed in any::<prop::sample::Index>()) {
        prop_assert_eq!(changes(&hardware, &hardware), Changes::default());
        // In whatever order things are listed.
        let mut shuffled = hardware.clone();
        shuffled.gpus.reverse();
        if !shuffled.disks.is_empty() {
            let middle = seed.index(shuffled.disks.len());
            shuffled.disks.rotate_left(middle);
        }
        prop_assert_eq!(changes(&hardware, &shuffled), Changes::default());
        let mut software = software(&packages, Some("3.13.5"));
        let before = software.clone();
        software.packages.reverse();
        prop_assert_eq!(changes(&before, &software), Changes::default());
    }

    #[test]
    fn packages_are_added_removed_and_modified_exactly(before in versions(), after in versions()) {
        let found = changes(&software(&before, None), &software(&after, None));
        let only_in = |one: &Versions, other: &Versions| -> Vec<Item> {
            one.iter().filter(|(name, _)| !other.contains_key(*name)).map(|(name, version)| package(name, version)).collect()
        };
        let modified: Vec<_> = before.iter().filter_map(|(name, old)| {
            let new = after.get(name).filter(|new| *new != old)?;
            Some(Modified { item: format!("packages[{name}]"), before: old.clone(), after: new.clone() })
        }).collect();
        prop_assert_eq!(found, Changes { added: only_in(&after, &before), removed: only_in(&before, &after), modified });
    }

    #[test]
    fn the_way_back_is_the_mirror_image(before in hardware(), after in hardware()) {
        let (there, back) = (changes(&before, &after), changes(&after, &before));
        prop_assert_eq!(sorted(there.added), sorted(back.removed));
        prop_assert_eq!(sorted(there.removed), sorted(back.added));
        let swapped = back.modified.into_iter().map(|Modified { item, before, after }| Modified { item, before: after, after: before });
        prop_assert_eq!(there.modified, swapped.collect::<Vec<_>>());
    }

    #[test]
    fn figures_that_move_count_beyond_their_tolerance_only(hardware in hardware(), share in -2.0..2.0_f64) {
        // At the edge itself, rounding decides.
        prop_assume!((share.abs() - 1.0).abs() > 0.01 && hardware.ram_gb.total > 1.0);
        let mut now = hardware.clone();
        now.ram_gb.used += share * now.ram_gb.total * 0.1;
        let moved: Vec<_> = changes(&hardware, &now).modified.into_iter().map(|change| change.item).collect();
        let expected: &[&str] = if share.abs() > 1.0 { &["ram_gb.used"] } else { &[] };
        prop_assert_eq!(moved, expected);
    }
}

fn sorted(mut items: Vec<Item>) -> Vec<Item> {
    items.sort_by(|one, other| one.item.cmp(&other.item));
    items
}

#[test]
fn each_part_is_named() {
    let before = Hardware {
        cpu: Cpu { cores: 4, threads: 8, frequency_mhz: Some(4000.0) },
        gpus: vec![gpu_named("A", Some("1.0")), gpu_named("A", Some("1.0"))],
        ram_gb: Ram { total: 32.0, used: 8.0, free: 24.0 },
        disks: vec![disk_at("/", 100.0, 50.0), disk_at("/old", 10.0, 1.0)],
        os: "linux".to_owned(),
    };
    let now = Hardware {
        cpu: Cpu { cores: 8, threads: 8, frequency_mhz: Some(4300.0) },
        gpus: vec![gpu_named("A", Some("2.0"))],
        ram_gb: Ram { total: 64.0, used: 9.0, free: 55.0 },
        disks: vec![disk_at("/new", 10.0, 1.5), disk_at("/", 100.0, 50.9)],
        os: "linux".to_owned(),
    };
    let item = |item: &str, value: &str| Item { item: item.to_owned(), value: value.to_owned() };
    let modified = |item: &str, before: &str, after: &str| Modified {
        item: item.to_owned(),
        before: before.to_owned(),
        after: after.to_owned(),
    };
    let expected = Changes {
        added: vec![item("disks[/new]", "size_gb 10, used_gb 1.5")],
        removed: vec![item("disks[/old]", "size_gb 10, used_gb 1"), item("gpus[A]#2", "driver_version 1.0")],
        modified: vec![
            modified("cpu.cores", "4", "8"),
            modified("gpus[A].driver_version", "1.0", "2.0"),
            modified("ram_gb.free", "24", "55"),
            modified("ram_gb.total", "32", "64"),
        ],
    };
    assert_eq!(changes(&before, &now), expected);
    let python = |version| software(&Versions::new(), version);
    assert_eq!(changes(&python(None), &python(Some("3.13.5"))).added, [item("python_version", "3.13.5")]);
    assert_eq!(changes(&python(Some("3.13.5")), &python(None)).removed, [item("python_version", "3.13.5")]);
}

fn gpu_named(name: &str, driver: Option<&str>) -> Gpu {
    Gpu { name: name.to_owned(), vram_gb: None, driver_version: driver.map(str::to_owned) }
}

fn disk_at(mount: &str, size_gb: f64, used_gb: f64) -> Disk {
    Disk { mount: mount.to_owned(), size_gb, used_gb }
}
