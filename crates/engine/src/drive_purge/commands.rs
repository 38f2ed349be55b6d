//! Makes an NVMe drive like new: Format NVM with an erase of all user data, or Sanitize. What is on it is lost.
//!
//! Refuses what would reach beyond the namespace that was named: another namespace of the same drive. It asks for no
//! permission; whoever calls has the word of the user.
//!
//! Source: NVM Express base specification 2.0, sections 5.14 (Format NVM), 5.17 (Identify), 5.24 (Sanitize).

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use super::DrivePurge;
use crate::clock;
use crate::nvme::{self, AdminCommand, FORMAT, IDENTIFY, LOG_BYTES, SANITIZE};

/// Bytes of what Identify answers.
const PAGE_BYTES: usize = 4096;
const SANITIZE_STATUS: u8 = 0x81;
/// Identify, CNS: a namespace, the controller, the namespaces that are there.
const NAMESPACE: u32 = 0;
const CONTROLLER: u32 = 1;
const ACTIVE: u32 = 2;
/// Format erases all user data: secure erase settings of word 10.
const USER_DATA_ERASE: u32 = 1 << 9;
/// Sanitize action of word 10.
const BLOCK_ERASE: u32 = 2;
/// A drive of many terabytes may take hours.
const ERASE_TIME_OUT_MS: u32 = 6 * 3600 * 1000;
/// Between two looks at a sanitize operation.
const LOOK_NS: u64 = 200_000_000;

/// Who answers commands: a drive, or a pretended one.
trait AdminQueue {
    fn perform(&mut self, command: AdminCommand, data: &mut [u8]) -> Result<(), i32>;
    fn pause(&mut self);
}

struct Drive(File);

impl AdminQueue for Drive {
    fn perform(&mut self, command: AdminCommand, data: &mut [u8]) -> Result<(), i32> {
        nvme::perform(self.0.as_raw_fd(), command, data)
    }

    fn pause(&mut self) {
        clock::sleep_ns(LOOK_NS);
    }
}

/// Purges the namespace behind a block device, which nobody else may use, and returns when that is done.
///
/// # Errors
/// Why it cannot be done, as a clause; then nothing was changed, unless the drive itself says that it failed.
pub fn purge(path: &str, how: DrivePurge) -> Result<(), String> {
    // Exclusively: the kernel refuses what is mounted or otherwise claimed, a partition of it too.
    let file = File::options().read(true).write(true).custom_flags(libc::O_EXCL).open(path);
    let file = file.map_err(|error| iodyno_model::origin::plain(&error))?;
    let number = nvme::namespace(file.as_raw_fd()).ok_or("it is no NVMe namespace")?;
    purge_on(&mut Drive(file), number, how)
}

/// Whether a block device can be purged so: nothing is changed.
///
/// # Errors
/// Why not, as a clause.
pub fn check(path: &str, how: DrivePurge) -> Result<(), String> {
    let file = File::open(path).map_err(|error| iodyno_model::origin::plain(&error))?;
    let number = nvme::namespace(file.as_raw_fd()).ok_or("it is no NVMe namespace")?;
    command(&mut Drive(file), number, how).map(drop)
}

fn purge_on(queue: &mut dyn AdminQueue, number: u32, how: DrivePurge) -> Result<(), String> {
    let command = command(queue, number, how)?;
    queue.perform(command, &mut []).map_err(|status| refused("the drive refused it", status))?;
    match how {
        DrivePurge::Format => Ok(()),
        DrivePurge::Sanitize => wait_for_sanitize(queue),
    }
}

/// The command, once it is sure that it reaches this namespace only.
fn command(queue: &mut dyn AdminQueue, number: u32, how: DrivePurge) -> Result<AdminCommand, String> {
    let controller = identified(queue, CONTROLLER, 0)?;
    let is_only = identified(queue, ACTIVE, 0)?.as_chunks::<4>().0.iter().all(|active| {
        let active = u32::from_le_bytes(*active);
        active == 0 || active == number
    });
    let erase = |opcode, word_10, namespace| {
        AdminCommand::new(opcode, namespace, word_10).within_ms(ERASE_TIME_OUT_MS)
    };
    match how {
        DrivePurge::Format => {
            if controller[256] & 0b10 == 0 {
                return Err("the drive has no Format command (OACS)".into());
            }
            // FNA: a format, or an erase, of one namespace is one of all.
            if controller[524] & 0b11 != 0 && !is_only {
                return Err("the drive formats all its namespaces at once, and it has others (FNA)".into());
            }
            let namespace = identified(queue, NAMESPACE, number)?;
            // FLBAS: the format's number in bits 3:0 and 6:5, metadata in bit 4; DPS: protection as it is.
            let (flbas, dps) = (u32::from(namespace[26]), u32::from(namespace[29]));
            let format =
                flbas & 0b1_1111 | (flbas >> 5 & 0b11) << 12 | (dps & 0b111) << 5 | (dps >> 3 & 1) << 8;
            Ok(erase(FORMAT, format | USER_DATA_ERASE, number))
        }
        DrivePurge::Sanitize => {
            if controller[328] & 0b10 == 0 {
                return Err("the drive has no block erase among its sanitize actions (SANICAP)".into());
            }
            if !is_only {
                return Err("a sanitize operation erases all namespaces of a drive, and it has others".into());
            }
            Ok(erase(SANITIZE, BLOCK_ERASE, 0))
        }
    }
}

fn identified(queue: &mut dyn AdminQueue, what: u32, namespace: u32) -> Result<[u8; PAGE_BYTES], String> {
    let mut page = [0; PAGE_BYTES];
    let command = AdminCommand::new(IDENTIFY, namespace, what);
    queue
        .perform(command, &mut page)
        .map_err(|status| refused("the drive does not identify itself", status))?;
    Ok(page)
}

fn wait_for_sanitize(queue: &mut dyn AdminQueue) -> Result<(), String> {
    loop {
        let mut page = [0; LOG_BYTES];
        queue
            .perform(AdminCommand::log_page(SANITIZE_STATUS), &mut page)
            .map_err(|status| refused("its progress cannot be read", status))?;
        match page[2] & 0b111 {
            1 | 4 => return Ok(()),
            2 => queue.pause(),
            _ => return Err("the drive says that its sanitize operation failed".into()),
        }
    }
}

fn refused(what: &str, status: i32) -> String {
    match status {
        status if status < 0 => {
            format!("{what}: {}", iodyno_model::origin::plain(&std::io::Error::from_raw_os_error(-status)))
        }
        status => format!("{what}: NVMe status {:#x}", status & 0x7ff),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A drive as its identification describes it, and what it was told.
    struct PretendedDrive {
        controller: [u8; PAGE_BYTES],
        namespace: [u8; PAGE_BYTES],
        active: Vec<u32>,
        /// Answers to looks at the sanitize status, the next one last.
        progress: Vec<u8>,
        told: Vec<AdminCommand>,
        pauses: u32,
    }

    impl AdminQueue for PretendedDrive {
        fn perform(&mut self, command: AdminCommand, data: &mut [u8]) -> Result<(), i32> {
            match (command.opcode, command.words_10_15[0]) {
                (IDENTIFY, CONTROLLER) => data.copy_from_slice(&self.controller),
                (IDENTIFY, NAMESPACE) => data.copy_from_slice(&self.namespace),
                (IDENTIFY, ACTIVE) => {
                    let bytes: Vec<u8> = self.active.iter().flat_map(|number| number.to_le_bytes()).collect();
                    data[..bytes.len()].copy_from_slice(&bytes);
                }
                (nvme::GET_LOG_PAGE, _) => data[2] = self.progress.pop().ok_or(0x2)?,
                _ => self.told.push(command),
            }
            Ok(())
        }

        fn pause(&mut self) {
            self.pauses += 1;
        }
    }

    fn drive() -> PretendedDrive {
        let (mut controller, mut namespace) = ([0; PAGE_BYTES], [0; PAGE_BYTES]);
        (controller[256], controller[328]) = (0b10, 0b10);
        // The fifth format of the drive, with metadata at its blocks' ends, protection of type 1 in their last bytes.
        (namespace[26], namespace[29]) = (0b1_0101, 0b0001);
        let (active, progress, told) = (vec![3], vec![], vec![]);
        PretendedDrive { controller, namespace, active, progress, told, pauses: 0 }
    }

    #[test]
    fn a_format_keeps_the_format_and_erases() {
        let mut drive = drive();
        purge_on(&mut drive, 3, DrivePurge::Format).unwrap();
        let [command] = drive.told.as_slice() else { panic!("{:?}", drive.told) };
        assert_eq!((command.opcode, command.namespace), (0x80, 3));
        let (erase, protection, metadata, format) = (1 << 9, 1 << 5, 1 << 4, 5);
        assert_eq!(command.words_10_15[0], erase | protection | metadata | format);
    }

    #[test]
    fn a_sanitize_operation_is_waited_for() {
        let mut drive = PretendedDrive { progress: vec![1, 2, 2], ..drive() };
        purge_on(&mut drive, 3, DrivePurge::Sanitize).unwrap();
        assert_eq!((drive.told[0].opcode, drive.told[0].words_10_15[0], drive.pauses), (0x84, 2, 2));
        let mut failing = PretendedDrive { progress: vec![3], ..self::drive() };
        let why = purge_on(&mut failing, 3, DrivePurge::Sanitize).unwrap_err();
        assert_eq!(why, "the drive says that its sanitize operation failed");
    }

    #[test]
    fn what_would_reach_another_namespace_is_refused_and_nothing_is_told() {
        let mut shared = PretendedDrive { active: vec![1, 3], ..drive() };
        let why = purge_on(&mut shared, 3, DrivePurge::Sanitize).unwrap_err();
        assert_eq!(why, "a sanitize operation erases all namespaces of a drive, and it has others");
        assert!(command(&mut shared, 3, DrivePurge::Format).is_ok(), "its own namespace alone");
        shared.controller[524] = 0b10;
        let why = purge_on(&mut shared, 3, DrivePurge::Format).unwrap_err();
        assert_eq!(why, "the drive formats all its namespaces at once, and it has others (FNA)");
        let mut plain = PretendedDrive { controller: [0; PAGE_BYTES], ..drive() };
        let why = purge_on(&mut plain, 3, DrivePurge::Format).unwrap_err();
        assert_eq!(why, "the drive has no Format command (OACS)");
        let why = purge_on(&mut plain, 3, DrivePurge::Sanitize).unwrap_err();
        assert_eq!(why, "the drive has no block erase among its sanitize actions (SANICAP)");
        assert!(shared.told.is_empty() && plain.told.is_empty());
    }

    #[test]
    fn what_is_no_namespace_says_so() {
        assert_eq!(purge("/dev/null", DrivePurge::Format).unwrap_err(), "it is no NVMe namespace");
        assert_eq!(check("/dev/null", DrivePurge::Sanitize).unwrap_err(), "it is no NVMe namespace");
    }
}
