//! A compound file with one stream (MS-CFB, version 3): the shell that older spreadsheets' streams lie in.
//!
//! Written here, because what the crates for it write bears the clock's time, and these bytes are to be the same each time.
//! It refuses streams that need more tables than its heading names.

const SECTOR: usize = 512;
/// A shorter stream would lie in sectors of another size.
const LEAST: usize = 4096;
/// Sectors of the table that the heading has room for.
const TABLES_MOST: usize = 109;
const FREE: u32 = 0xFFFF_FFFF;
const END: u32 = 0xFFFF_FFFE;
const TABLE: u32 = 0xFFFF_FFFD;
const NOBODY: u32 = 0xFFFF_FFFF;

/// The most that fits, bytes.
pub const MOST: usize = 6 << 20;

/// The file's bytes: the stream by that name, padded with zeros.
///
/// # Errors
/// That it is too large, as a lower-case fragment.
pub fn file(name: &str, mut stream: Vec<u8>) -> Result<Vec<u8>, String> {
    if stream.len() > MOST {
        return Err(format!("{} bytes are more than this format holds", stream.len()));
    }
    let bytes = stream.len().max(LEAST);
    stream.resize(bytes.next_multiple_of(SECTOR), 0);
    let sectors = stream.len() / SECTOR;
    // The stream, its folder, then the table of all sectors, which has entries for itself, too.
    let entries = |tables: usize| sectors + 1 + tables;
    let tables = (1..=TABLES_MOST).find(|tables| entries(*tables) <= tables * SECTOR / 4).unwrap_or(1);
    let mut file = heading(sectors as u32, tables);
    file.extend(&stream);
    file.extend(folder(name, bytes as u64));
    file.extend(table(sectors, tables));
    Ok(file)
}

fn heading(folder: u32, tables: usize) -> Vec<u8> {
    let mut bytes = vec![0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1];
    bytes.extend([0; 16]);
    // Minor and major version, byte order, sizes of sectors and of small sectors as powers of two.
    [0x3E_u16, 3, 0xFFFE, 9, 6].iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    bytes.extend([0; 6]);
    let words = [0, tables as u32, folder, 0, LEAST as u32, END, 0, END, 0];
    words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    for index in 0..TABLES_MOST {
        let at = if index < tables { folder + 1 + index as u32 } else { FREE };
        bytes.extend(at.to_le_bytes());
    }
    bytes
}

/// The root and its only child.
fn folder(name: &str, bytes: u64) -> Vec<u8> {
    let mut sector = entry("Root Entry", 5, 1, END, 0);
    sector.extend(entry(name, 2, NOBODY, 0, bytes));
    let nobody = entry("", 0, NOBODY, 0, 0);
    sector.extend(&nobody);
    sector.extend(&nobody);
    sector
}

fn entry(name: &str, kind: u8, child: u32, first: u32, bytes: u64) -> Vec<u8> {
    let mut letters: Vec<u8> = name.encode_utf16().take(31).flat_map(u16::to_le_bytes).collect();
    let length = if letters.is_empty() { 0 } else { letters.len() as u16 + 2 };
    letters.resize(64, 0);
    letters.extend(length.to_le_bytes());
    // Black, without neighbours.
    letters.extend([kind, 1]);
    [NOBODY, NOBODY, child].iter().for_each(|word| letters.extend(word.to_le_bytes()));
    // Class, state and two times: none.
    letters.extend([0; 16 + 4 + 8 + 8]);
    letters.extend(first.to_le_bytes());
    letters.extend(bytes.to_le_bytes());
    letters
}

/// Each sector's follower.
fn table(sectors: usize, tables: usize) -> Vec<u8> {
    let mut followers: Vec<u32> = (1..sectors as u32).collect();
    followers.extend([END, END]);
    followers.extend(std::iter::repeat_n(TABLE, tables));
    followers.resize(tables * SECTOR / 4, FREE);
    followers.into_iter().flat_map(u32::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_are_accounted_for() {
        for bytes in [0, 1, 4096, 70_000, MOST] {
            let file = file("Workbook", vec![7; bytes]).unwrap();
            let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
            assert_eq!(file.len() % SECTOR, 0);
            let (tables, folder) = (word(44), word(48));
            assert_eq!(file.len() / SECTOR, 1 + folder + 1 + tables);
            // The stream is followed to its end by the table.
            let at = |sector: usize| (folder + 2) * SECTOR + sector * 4;
            let (mut sector, mut seen) = (0, 1);
            while word(at(sector)) != END as usize {
                (sector, seen) = (word(at(sector)), seen + 1);
            }
            assert_eq!((seen, sector + 1), (folder, folder), "{bytes} bytes");
        }
        assert!(file("Workbook", vec![0; MOST + 1]).is_err());
    }
}
