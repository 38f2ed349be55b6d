//! Who uses a block device, or counts on it: the reasons not to write to it that no option sets aside, each with what
//! ends it.
//!
//! Mounts, swap, what the kernel builds on a device, and the tables that name it for the next start. Devices are
//! compared by their numbers, a disk with those of its partitions: the name of one often begins that of another.
//! Refuses to end anything itself.

/// A reason not to write to a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// What it is, as a sentence about the device.
    pub what: String,
    /// What ends it: a command where there is one.
    pub remedy: String,
}

/// Who uses the block device, or counts on it.
#[cfg(target_os = "linux")]
pub fn of(path: &str) -> Option<User> {
    linux::of(path)
}

/// Who uses the block device: elsewhere nobody says.
#[cfg(not(target_os = "linux"))]
pub fn of(_path: &str) -> Option<User> {
    None
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    use std::path::Path;

    use super::User;
    use super::tables::{UserTable, plain, quoted};
    use crate::io::c_path;
    use crate::memory::errno;

    pub(super) fn of(path: &str) -> Option<User> {
        let device = Device::of(path)?;
        let users = [mounted, swapped, built_on, beneath_a_loop, counted_on];
        users.iter().find_map(|user| user(&device)).or_else(|| claimed(path))
    }

    /// A block device and its partitions.
    struct Device {
        /// As it is called where nothing else is known.
        path: String,
        /// Their device numbers, its own first.
        numbers: Vec<u64>,
        /// Their names in sysfs; none where there is no sysfs.
        names: Vec<String>,
    }

    impl Device {
        fn of(path: &str) -> Option<Device> {
            let number = block_number(path)?;
            let (mut numbers, mut names) = (vec![number], Vec::new());
            let place = format!("/sys/dev/block/{}:{}", libc::major(number), libc::minor(number));
            if let Ok(own) = fs::canonicalize(place) {
                names.push(file_name(&own));
                let parts = fs::read_dir(&own).into_iter().flatten().flatten().map(|entry| entry.path());
                for part in parts.filter(|part| part.join("partition").exists()) {
                    names.push(file_name(&part));
                    numbers.extend(fs::read_to_string(part.join("dev")).ok().as_deref().and_then(number_of));
                }
            }
            Some(Device { path: path.into(), numbers, names })
        }

        /// Whether a path is this device or one of its partitions.
        fn has(&self, path: &str) -> bool {
            path.starts_with('/') && block_number(path).is_some_and(|number| self.numbers.contains(&number))
        }
    }

    fn block_number(path: &str) -> Option<u64> {
        let facts = fs::metadata(path).ok()?;
        facts.file_type().is_block_device().then(|| facts.rdev())
    }

    /// Of `8:1`, as sysfs writes it.
    fn number_of(text: &str) -> Option<u64> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(libc::makedev(major.parse().ok()?, minor.parse().ok()?))
    }

    fn file_name(path: &Path) -> String {
        path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn mounted(device: &Device) -> Option<User> {
        let table = fs::read_to_string("/proc/self/mounts").ok()?;
        let mounts = table.lines().filter_map(|line| {
            let mut words = line.split(' ').map(plain);
            let (source, place) = (words.next()?, words.next()?);
            device.has(&source).then_some((source, place))
        });
        let mounts: Vec<_> = mounts.collect();
        let (source, place) = mounts.first()?;
        // What was mounted last goes first.
        let mut places: Vec<String> = mounts.iter().rev().map(|(_, place)| quoted(place)).collect();
        places.dedup();
        Some(User {
            what: format!("it is mounted ({source} on {place})"),
            remedy: format!("umount {}", places.join(" ")),
        })
    }

    fn swapped(device: &Device) -> Option<User> {
        let table = fs::read_to_string("/proc/swaps").ok()?;
        let names = table.lines().filter_map(|line| line.split_whitespace().next()).map(plain);
        let name = { names }.find(|name| device.has(name))?;
        Some(User { what: format!("it is used as swap ({name})"), remedy: format!("swapoff {name}") })
    }

    /// What device mapper, md and their kin have built on it.
    fn built_on(device: &Device) -> Option<User> {
        let holders = |name: &String| fs::read_dir(format!("/sys/class/block/{name}/holders"));
        let mut held = device.names.iter().filter_map(|name| holders(name).ok()).flatten().flatten();
        let holder = held.next()?.file_name().to_string_lossy().into_owned();
        let says = |what: &str| {
            let text = fs::read_to_string(format!("/sys/class/block/{holder}/{what}")).ok()?;
            Some(text.trim().to_string())
        };
        let (Some(name), Some(kind)) = (says("dm/name"), says("dm/uuid")) else {
            let remedy = match holder.starts_with("md") {
                true => format!("mdadm --stop /dev/{holder}"),
                false => format!("end {holder} first"),
            };
            return Some(User { what: format!("/dev/{holder} is built on it"), remedy });
        };
        let (what, remedy) = match kind.split('-').next().unwrap_or_default() {
            "LVM" => ("the LVM volume", format!("lvchange -an /dev/mapper/{name}")),
            "CRYPT" => ("the encrypted volume", format!("cryptsetup close {name}")),
            _ => ("the mapped device", format!("dmsetup remove {name}")),
        };
        Some(User { what: format!("{what} /dev/mapper/{name} is built on it"), remedy })
    }

    /// A loop device whose blocks lie on this one: the kernel does not count it as a claim.
    fn beneath_a_loop(device: &Device) -> Option<User> {
        let lies_here = |name: &String| {
            let file = fs::read_to_string(format!("/sys/block/{name}/loop/backing_file"));
            file.is_ok_and(|file| device.has(file.trim_end()))
        };
        let names = fs::read_dir("/sys/block").ok()?.flatten().map(|entry| file_name(&entry.path()));
        let name = names.filter(|name| name.starts_with("loop")).find(lies_here)?;
        Some(User { what: format!("/dev/{name} lies on it"), remedy: format!("losetup -d /dev/{name}") })
    }

    /// A table that names it: what it holds is missed when the machine starts again.
    fn counted_on(device: &Device) -> Option<User> {
        UserTable::ALL.iter().find_map(|table| {
            let text = fs::read_to_string(table.path).ok()?;
            let (name, what_for) = table.names(&text).into_iter().find(|(name, _)| device.has(name))?;
            let known = if name == device.path { String::new() } else { format!(" as {name}") };
            Some(User {
                what: format!("{} names it{known}{what_for}", table.path),
                remedy: format!("where nothing needs it any more, take it out of {} first", table.path),
            })
        })
    }

    /// Whether the kernel says that somebody holds the device: an exclusive open fails.
    fn claimed(path: &str) -> Option<User> {
        let path = c_path(path).ok()?;
        // SAFETY: the path is zero-terminated; an exclusive open for reading changes nothing.
        let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_EXCL | libc::O_CLOEXEC) };
        if fd >= 0 {
            // SAFETY: the descriptor is ours and is closed once.
            unsafe { libc::close(fd) };
            return None;
        }
        (errno() == libc::EBUSY).then(|| User {
            what: "it is in use (mounted, or part of another device)".into(),
            remedy: "end what uses it: lsblk and fuser -v show it".into(),
        })
    }
}

/// Tables of the machine that name devices.
#[cfg(any(target_os = "linux", test))]
mod tables {
    pub(super) struct UserTable {
        pub(super) path: &'static str,
        /// The devices that a line names, and what for.
        read: fn(&str) -> Vec<(String, String)>,
    }

    impl UserTable {
        pub(super) const ALL: &[UserTable] = &[
            UserTable { path: "/etc/fstab", read: fstab },
            UserTable { path: "/etc/crypttab", read: crypttab },
            UserTable { path: "/etc/mdadm/mdadm.conf", read: arrays },
            UserTable { path: "/etc/mdadm.conf", read: arrays },
            UserTable { path: "/etc/lvm/devices/system.devices", read: volumes },
        ];

        /// All devices, by paths, and what they are named for.
        pub(super) fn names(&self, text: &str) -> Vec<(String, String)> {
            let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
            lines.flat_map(self.read).collect()
        }
    }

    /// fstab(5): what, where, and as which file system.
    fn fstab(line: &str) -> Vec<(String, String)> {
        let mut words = line.split_whitespace();
        let (Some(what), Some(place)) = (words.next(), words.next()) else { return Vec::new() };
        let what_for = match words.next() {
            Some("swap") => " for swap".into(),
            _ => format!(" for {}", plain(place)),
        };
        vec![(path(&plain(what)), what_for)]
    }

    /// crypttab(5): a name, and the device that holds it.
    fn crypttab(line: &str) -> Vec<(String, String)> {
        let mut words = line.split_whitespace();
        let (Some(name), Some(what)) = (words.next(), words.next()) else { return Vec::new() };
        vec![(path(what), format!(" for the encrypted volume {name}"))]
    }

    /// mdadm.conf(5): `ARRAY /dev/md0 … devices=/dev/sda1,/dev/sdb1`.
    fn arrays(line: &str) -> Vec<(String, String)> {
        let mut words = line.split_whitespace();
        let (Some("ARRAY"), Some(array)) = (words.next(), words.next()) else { return Vec::new() };
        let members = words.filter_map(|word| word.strip_prefix("devices=")).flat_map(|list| list.split(','));
        members.map(|member| (member.to_string(), format!(" for the array {array}"))).collect()
    }

    /// LVM's list of its devices: `… DEVNAME=/dev/sda2 …`.
    fn volumes(line: &str) -> Vec<(String, String)> {
        let names = line.split_whitespace().filter_map(|word| word.strip_prefix("DEVNAME="));
        names.map(|name| (name.to_string(), " for LVM".into())).collect()
    }

    /// The path of what a table names: `UUID=…` and its kin are links that udev keeps.
    fn path(what: &str) -> String {
        let Some((tag, value)) = what.split_once('=') else { return what.into() };
        let kind = match tag {
            "UUID" => "uuid",
            "LABEL" => "label",
            "PARTUUID" => "partuuid",
            "PARTLABEL" => "partlabel",
            "ID" => "id",
            _ => return what.into(),
        };
        let letter = |byte: u8| match byte {
            b'0'..=b'9'
            | b'A'..=b'Z'
            | b'a'..=b'z'
            | 0x80..
            | b'#'
            | b'+'
            | b'-'
            | b'.'
            | b':'
            | b'='
            | b'@'
            | b'_' => {
                vec![byte]
            }
            other => format!("\\x{other:02x}").into_bytes(),
        };
        let value: Vec<u8> = value.trim_matches('"').bytes().flat_map(letter).collect();
        format!("/dev/disk/by-{kind}/{}", String::from_utf8_lossy(&value))
    }

    /// A name of the mount table without its escapes.
    pub(super) fn plain(text: &str) -> String {
        text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
    }

    /// A path as a shell takes it.
    pub(super) fn quoted(path: &str) -> String {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:@,%".contains(&byte);
        match path.bytes().all(is_plain) {
            true => path.into(),
            false => format!("'{}'", path.replace('\'', "'\\''")),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn tables_name_their_devices() {
            let named = |path: &str, text: &str| {
                let table = UserTable::ALL.iter().find(|table| table.path == path).unwrap();
                let names = table.names(text).into_iter().map(|(name, what_for)| format!("{name}{what_for}"));
                names.collect::<Vec<_>>()
            };
            let fstab = "# /dev/sdz / ext4\n/dev/sda1 / ext4 defaults 0 1\n\nUUID=ab-12 /mnt/a\\040b xfs noauto\n\
                         LABEL=my\\040disk none swap sw\nproc /proc proc\n";
            assert_eq!(
                named("/etc/fstab", fstab),
                [
                    "/dev/sda1 for /",
                    "/dev/disk/by-uuid/ab-12 for /mnt/a b",
                    "/dev/disk/by-label/my\\x20disk for swap",
                    "proc for /proc"
                ]
            );
            assert_eq!(
                named("/etc/crypttab", "home PARTUUID=\"12\" none luks\n#x /dev/y\n"),
                ["/dev/disk/by-partuuid/12 for the encrypted volume home"]
            );
            assert_eq!(
                named("/etc/mdadm.conf", "DEVICE partitions\nARRAY /dev/md0 level=1 devices=/dev/a,/dev/b\n"),
                ["/dev/a for the array /dev/md0", "/dev/b for the array /dev/md0"]
            );
            assert_eq!(
                named("/etc/lvm/devices/system.devices", "IDTYPE=sys_wwid IDNAME=x DEVNAME=/dev/c PVID=y\n"),
                ["/dev/c for LVM"]
            );
        }

        #[test]
        fn paths_are_quoted_where_a_shell_would_split_them() {
            assert_eq!((quoted("/mnt/a"), quoted("/a b'c")), ("/mnt/a".into(), "'/a b'\\''c'".into()));
        }
    }
}
