//! CPU, memory and disks. Only file systems on this machine's own devices are asked for their size: one on the network
//! may never answer.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

use super::gpus::{self, Gpu};

const GB: f64 = 1_073_741_824.0;

/// File systems that span devices and so have a name of their own instead.
const POOLS: [&str; 2] = ["bcachefs", "zfs"];

/// What follows these is the name of a user or chosen by one.
const PERSONAL: [&str; 4] = ["/home", "/media", "/run/media", "/Users"];

/// Ordinary people; the accounts below belong to services.
const FIRST_USER: u32 = 1000;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hardware {
    /// `list_hardware`: the processors
    pub(super) cpu: Cpu,
    /// `list_hardware`: NVIDIA, AMD and Intel graphics processors
    pub(super) gpus: Vec<Gpu>,
    /// `list_hardware`: memory in GB
    pub(super) ram_gb: Ram,
    /// `list_hardware`: file systems on disks of this machine
    pub(super) disks: Vec<Disk>,
    /// `list_hardware`: the kind of operating system, such as "linux"
    pub(super) os: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
// What is not known is null, not absent.
#[schemars(inline, extend("required" = ["cores", "threads", "frequency_mhz"]))]
pub(super) struct Cpu {
    pub(super) cores: u32,
    pub(super) threads: u32,
    /// The highest it goes, or the present one where that is not known
    #[schemars(range(min = 0))]
    pub(super) frequency_mhz: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct Ram {
    #[schemars(range(min = 0))]
    pub(super) total: f64,
    #[schemars(range(min = 0))]
    pub(super) used: f64,
    /// What programs can still get
    #[schemars(range(min = 0))]
    pub(super) free: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct Disk {
    /// Where it is mounted; names of users are `*`
    pub(super) mount: String,
    #[schemars(range(min = 0))]
    pub(super) size_gb: f64,
    #[schemars(range(min = 0))]
    pub(super) used_gb: f64,
}

/// Blocks on the system; not for an async thread.
pub(super) fn look() -> Result<Hardware, sysinfo::Error> {
    let cpu = CpuRefreshKind::nothing().with_frequency();
    let memory = MemoryRefreshKind::nothing().with_ram();
    let system = System::new_with_specifics(RefreshKind::nothing().with_cpu(cpu).with_memory(memory))?;
    let threads = system.cpus().len();
    let cores = System::physical_core_count().unwrap_or(threads);
    let (total, available) = (system.total_memory(), system.available_memory());
    Ok(Hardware {
        cpu: Cpu {
            cores: u32::try_from(cores).unwrap_or(u32::MAX),
            threads: u32::try_from(threads).unwrap_or(u32::MAX),
            frequency_mhz: highest_frequency(Path::new("/sys")).or_else(|| present_frequency(&system)),
        },
        gpus: gpus::look(),
        ram_gb: Ram { total: gb(total), used: gb(total.saturating_sub(available)), free: gb(available) },
        disks: disks(),
        os: std::env::consts::OS.to_owned(),
    })
}

pub(super) fn gb(bytes: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "two decimals are kept of it")]
    let gb = bytes as f64 / GB;
    (gb * 100.0).round() / 100.0
}

/// What the kernel knows about it does not depend on what the CPU does right now.
fn highest_frequency(sys: &Path) -> Option<f64> {
    let cpus = fs::read_dir(sys.join("devices/system/cpu")).ok()?;
    let highest = cpus.flatten().filter_map(|cpu| {
        let khz = fs::read_to_string(cpu.path().join("cpufreq/cpuinfo_max_freq")).ok()?;
        khz.trim().parse::<u32>().ok()
    });
    highest.max().map(|khz| f64::from(khz / 1000))
}

fn present_frequency(system: &System) -> Option<f64> {
    let mhz = system.cpus().iter().map(sysinfo::Cpu::frequency).max()?;
    u32::try_from(mhz).ok().filter(|mhz| *mhz > 0).map(f64::from)
}

fn disks() -> Vec<Disk> {
    // Where there is no such list, the one that everything hangs on is there.
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_else(|_| "/dev/root / unknown".to_owned());
    let names = names_of_people(
        &fs::read_to_string("/etc/passwd").unwrap_or_default(),
        &System::host_name().unwrap_or_default(),
    );
    let mut disks: Vec<Disk> = own_mounts(&mounts).iter().filter_map(|mount| measure(mount, &names)).collect();
    disks.sort_by(|one, other| one.mount.cmp(&other.mount));
    disks
}

fn measure(mount: &str, names: &[String]) -> Option<Disk> {
    // Containers have single files of the machine around them mounted.
    if !fs::metadata(mount).ok()?.is_dir() {
        return None;
    }
    let about = rustix::fs::statvfs(mount).ok()?;
    let (size, free) = (about.f_blocks * about.f_frsize, about.f_bfree * about.f_frsize);
    let used = size.saturating_sub(free);
    (size > 0).then(|| Disk { mount: without_names(mount, names), size_gb: gb(size), used_gb: gb(used) })
}

/// Where this machine's own devices are mounted, each once: at its shortest path.
fn own_mounts(mounts: &str) -> Vec<String> {
    let mut by_device: BTreeMap<&str, String> = BTreeMap::new();
    for line in mounts.lines() {
        let mut fields = line.split(' ');
        let (Some(device), Some(mount), Some(kind)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let ours = device.starts_with("/dev/") || POOLS.contains(&kind) || mount == "/";
        if !ours || kind == "squashfs" {
            continue;
        }
        let mount = unescaped(mount);
        let shortest = by_device.entry(device).or_insert_with(|| mount.clone());
        if mount.len() < shortest.len() {
            *shortest = mount;
        }
    }
    by_device.into_values().collect()
}

/// Space, tab, line break and backslash are written in octal there.
fn unescaped(mount: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .into_iter()
        .fold(mount.to_owned(), |mount, (escape, character)| mount.replace(escape, character))
}

/// The users of this machine, and its own name.
fn names_of_people(passwd: &str, host: &str) -> Vec<String> {
    let user = |line: &str| {
        let mut fields = line.split(':');
        let (name, id) = (fields.next()?, fields.nth(1)?.parse::<u32>().ok()?);
        (id >= FIRST_USER).then(|| name.to_owned())
    };
    let host = Some(host.to_owned()).filter(|host| !host.is_empty());
    passwd.lines().filter_map(user).chain(host).collect()
}

fn without_names(mount: &str, names: &[String]) -> String {
    let mut shown = String::new();
    for component in mount.split('/').filter(|component| !component.is_empty()) {
        let personal = PERSONAL.contains(&shown.as_str()) || names.iter().any(|name| name == component);
        shown.push('/');
        shown.push_str(if personal { "*" } else { component });
    }
    if shown.is_empty() { "/".to_owned() } else { shown }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{gb, highest_frequency, names_of_people, own_mounts, without_names};

    #[test]
    fn sizes_have_two_decimals() {
        for (bytes, expected) in [(0, 0.0), (1 << 30, 1.0), (1_610_612_736, 1.5), (17_179_869_185, 16.0)] {
            assert!((gb(bytes) - expected).abs() < f64::EPSILON, "{bytes}");
        }
    }

    #[test]
    fn only_own_devices_count_and_each_once() {
        let mounts = "\
proc /proc proc rw 0 0
overlay / overlay rw 0 0
/dev/sda1 /etc/resolv.conf ext4 rw 0 0
/dev/sda1 /srv ext4 rw 0 0
/dev/sdb1 /mnt/my\\040disk ext4 rw 0 0
tank/data /tank zfs rw 0 0
tmpfs /tmp tmpfs rw 0 0
/dev/loop3 /snap/core/1 squashfs ro 0 0
ann@far.example:/ /mnt/far fuse.sshfs rw 0 0
server:/export /mnt/nfs nfs4 rw 0 0
broken
";
        assert_eq!(own_mounts(mounts), ["/srv", "/mnt/my disk", "/", "/tank"]);
    }

    #[test]
    fn nobody_is_named() {
        let passwd = "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\nbad line\n";
        let names = names_of_people(passwd, "zeus");
        for (mount, shown) in [
            ("/", "/"),
            ("/home", "/home"),
            ("/home/bob", "/home/*"),
            ("/home/bob/music", "/home/*/music"),
            ("/run/media/bob/STICK", "/run/media/*/STICK"),
            ("/media/STICK", "/media/*"),
            ("/srv/ann/x", "/srv/*/x"),
            ("/backup/zeus", "/backup/*"),
            ("/var/lib", "/var/lib"),
            ("/root", "/root"),
        ] {
            assert_eq!(without_names(mount, &names), shown);
        }
    }

    #[test]
    fn the_highest_frequency_is_that_of_the_fastest_core() {
        let sys = tempfile::tempdir().unwrap();
        assert_eq!(highest_frequency(sys.path()), None);
        for (cpu, khz) in [("cpu0", "3800000\n"), ("cpu1", "5100000\n"), ("cpufreq", "x")] {
            let folder = sys.path().join("devices/system/cpu").join(cpu).join("cpufreq");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("cpuinfo_max_freq"), khz).unwrap();
        }
        assert_eq!(highest_frequency(sys.path()), Some(5100.0));
    }
}
