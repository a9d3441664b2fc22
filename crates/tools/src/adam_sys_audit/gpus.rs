//! Graphics processors: NVIDIA's own library where there is one, and what the kernel says about all others. No library
//! and no driver is no failure, only less to tell.

use std::fs;
use std::path::Path;

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hardware::gb;

const NVIDIA: &str = "0x10de";

/// Who makes graphics processors; what else draws on a screen is none.
const VENDORS: [(&str, &str); 3] = [("0x1002", "AMD"), (NVIDIA, "NVIDIA"), ("0x8086", "Intel")];

/// How the kernel's class of all display controllers begins.
const DISPLAY: &str = "0x03";

/// Where distributions keep the names of devices.
const PCI_NAMES: [&str; 2] = ["usr/share/hwdata/pci.ids", "usr/share/misc/pci.ids"];

/// No machine has more.
const MAX_GPUS: usize = 64;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
// What is not known is null, not absent.
#[schemars(inline, extend("required" = ["name", "vram_gb", "driver_version"]))]
pub(super) struct Gpu {
    pub(super) name: String,
    /// Its own memory in GB; null where it has none, or the driver does not say
    #[schemars(range(min = 0))]
    pub(super) vram_gb: Option<f64>,
    pub(super) driver_version: Option<String>,
}

pub(super) fn look() -> Vec<Gpu> {
    let nvidia = by_library().unwrap_or_else(|error| {
        tracing::debug!(%error, "the NVIDIA library tells nothing");
        Vec::new()
    });
    let by_kernel = by_kernel(Path::new("/"));
    let others = by_kernel.into_iter().filter(|(vendor, _)| nvidia.is_empty() || vendor != NVIDIA);
    let mut gpus: Vec<Gpu> = nvidia.iter().cloned().chain(others.map(|(_, gpu)| gpu)).collect();
    gpus.truncate(MAX_GPUS);
    gpus
}

/// Opened and closed each time: a driver cannot be replaced while somebody holds it.
fn by_library() -> Result<Vec<Gpu>, NvmlError> {
    let library = Nvml::init()?;
    let driver_version = library.sys_driver_version().ok();
    let count = library.device_count()?;
    let gpus = (0..count).filter_map(|index| {
        let device = library.device_by_index(index).ok()?;
        Some(Gpu {
            name: device.name().ok()?,
            vram_gb: device.memory_info().ok().map(|memory| gb(memory.total)),
            driver_version: driver_version.clone(),
        })
    });
    Ok(gpus.collect())
}

/// Vendor and what else is known of each; `root` is `/`.
fn by_kernel(root: &Path) -> Vec<(String, Gpu)> {
    let Ok(devices) = fs::read_dir(root.join("sys/bus/pci/devices")) else { return Vec::new() };
    let mut devices: Vec<_> = devices.flatten().map(|device| device.path()).collect();
    devices.sort();
    let mut gpus = Vec::new();
    for device in devices {
        let read = |file: &str| fs::read_to_string(device.join(file)).ok().map(|text| text.trim().to_owned());
        let (Some(class), Some(vendor), Some(id)) = (read("class"), read("vendor"), read("device")) else { continue };
        let Some((_, maker)) = VENDORS.iter().find(|(known, _)| *known == vendor) else { continue };
        if !class.starts_with(DISPLAY) {
            continue;
        }
        let described = read("product_name").filter(|name| !name.is_empty());
        let name = described.or_else(|| name_of(root, &vendor, &id)).map_or_else(
            || format!("{maker} graphics {}:{}", vendor.trim_start_matches("0x"), id.trim_start_matches("0x")),
            |name| if name.starts_with(maker) { name } else { format!("{maker} {name}") },
        );
        let driver = fs::read_link(device.join("driver")).ok();
        let driver = driver.as_deref().and_then(Path::file_name).map(|name| root.join("sys/module").join(name));
        let driver_version = driver.and_then(|module| fs::read_to_string(module.join("version")).ok());
        let vram = read("mem_info_vram_total").and_then(|bytes| bytes.parse().ok());
        let driver_version = driver_version.map(|version| version.trim().to_owned());
        gpus.push((vendor, Gpu { name, vram_gb: vram.map(gb), driver_version }));
    }
    gpus
}

/// Vendors stand at the beginning of a line, their devices indented below.
fn name_of(root: &Path, vendor: &str, device: &str) -> Option<String> {
    let names = PCI_NAMES.iter().find_map(|file| fs::read(root.join(file)).ok())?;
    let names = String::from_utf8_lossy(&names);
    let (vendor, device) = (vendor.strip_prefix("0x")?, device.strip_prefix("0x")?);
    let mut lines = names.lines().skip_while(|line| !line.starts_with(vendor)).skip(1);
    let mut own = lines.by_ref().take_while(|line| line.starts_with(['\t', '#']) || line.is_empty());
    own.find_map(|line| Some(line.strip_prefix('\t')?.strip_prefix(device)?.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::{Gpu, by_kernel};

    fn plant(root: &Path, slot: &str, files: &[(&str, &str)]) {
        let device = root.join("sys/bus/pci/devices").join(slot);
        fs::create_dir_all(&device).unwrap();
        for (name, text) in files {
            fs::write(device.join(name), text).unwrap();
        }
    }

    #[test]
    fn the_kernel_knows_vendor_memory_and_driver() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        assert_eq!(by_kernel(root), []);
        let amd = [
            ("class", "0x030000\n"),
            ("vendor", "0x1002\n"),
            ("device", "0x744c\n"),
            ("mem_info_vram_total", "25753026560\n"),
        ];
        plant(root, "0000:03:00.0", &amd);
        plant(root, "0000:00:02.0", &[("class", "0x030000"), ("vendor", "0x8086"), ("device", "0x4680")]);
        plant(root, "0000:04:00.0", &[("class", "0x030200"), ("vendor", "0x10de"), ("device", "0x2335")]);
        // A network card, the screen of a virtual machine, and one that has just been pulled out.
        plant(root, "0000:05:00.0", &[("class", "0x020000"), ("vendor", "0x8086"), ("device", "0x1533")]);
        plant(root, "0000:06:00.0", &[("class", "0x030000"), ("vendor", "0x1234"), ("device", "0x1111")]);
        plant(root, "0000:07:00.0", &[("vendor", "0x1002")]);
        symlink("../../../bus/pci/drivers/nvidia", root.join("sys/bus/pci/devices/0000:04:00.0/driver")).unwrap();
        fs::create_dir_all(root.join("sys/module/nvidia")).unwrap();
        fs::write(root.join("sys/module/nvidia/version"), "580.82.09\n").unwrap();
        fs::create_dir_all(root.join("usr/share/misc")).unwrap();
        let names = "# comment\n1002  Advanced Micro Devices\n\t744b  Other\n\t744c  Navi 31 [Radeon RX 7900]\n\t\t1002 0e3b  Board\n\
                     8086  Intel Corporation\n\t1533  I210\n";
        fs::write(root.join("usr/share/misc/pci.ids"), names).unwrap();
        let gpu = |name: &str, vram_gb, driver: Option<&str>| Gpu {
            name: name.to_owned(),
            vram_gb,
            driver_version: driver.map(str::to_owned),
        };
        let found: Vec<_> = by_kernel(root).into_iter().map(|(_, gpu)| gpu).collect();
        let expected = [
            gpu("Intel graphics 8086:4680", None, None),
            gpu("AMD Navi 31 [Radeon RX 7900]", Some(23.98), None),
            gpu("NVIDIA graphics 10de:2335", None, Some("580.82.09")),
        ];
        assert_eq!(found, expected);
    }
}
