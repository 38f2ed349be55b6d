//! Patterns that begin anew in each write and may name its place: written, and compared byte by byte.

use iodyno_model::Template;

/// Fills a whole write (or its first part) with the pattern.
pub(super) fn write(buffer: &mut [u8], template: &Template, write_offset: u64) {
    let period = template.bytes.len();
    if period == 0 {
        return;
    }
    let mut done = buffer.len().min(period);
    buffer[..done].copy_from_slice(&template.bytes[..done]);
    for &at in &template.offsets {
        let end = done.min(at as usize + 8);
        if let Some(place) = buffer.get_mut(at as usize..end) {
            place.copy_from_slice(&write_offset.to_le_bytes()[..place.len()]);
        }
    }
    while done < buffer.len() {
        // Whole periods are doubled, so that the phase never shifts.
        let more = done.min(buffer.len() - done);
        buffer.copy_within(..more, done);
        done += more;
    }
}

/// Whether a pattern says something and its offsets lie inside.
pub(super) fn is_sound(template: &Template) -> bool {
    !template.bytes.is_empty() && template.offsets.iter().all(|at| *at as usize + 8 <= template.bytes.len())
}

/// The first byte of `part`, which lies `phase` bytes into a write, that is not the pattern's: where in `part`, and
/// what it should be. `scratch` is room for one period, kept from call to call.
pub(super) fn first_difference(
    part: &[u8],
    template: &Template,
    write_offset: u64,
    phase: usize,
    scratch: &mut Vec<u8>,
) -> Option<(usize, u8)> {
    let period = template.bytes.len().max(1);
    scratch.resize(period, 0);
    write(scratch, template, write_offset);
    let one = &scratch[..period];
    let mut at = phase % period;
    let mut done = 0;
    while done < part.len() {
        let bytes = (period - at).min(part.len() - done);
        if part[done..done + bytes] != one[at..at + bytes] {
            let wrong = (0..bytes).find(|index| part[done + index] != one[at + index])?;
            return Some((done + wrong, one[at + wrong]));
        }
        done += bytes;
        at = 0;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_laid_into_every_period() {
        let template = Template { bytes: b"\xff\0\0\0\0\0\0\0\0abcd".to_vec(), offsets: vec![1] };
        assert!(is_sound(&template));
        let mut buffer = [0; 40];
        write(&mut buffer, &template, 0x1234);
        assert_eq!(&buffer[..16], b"\xff\x34\x12\0\0\0\0\0\0abcd\xff\x34\x12");
        assert_eq!(&buffer[26..30], b"\xff\x34\x12\0");
        assert_eq!(first_difference(&buffer, &template, 0x1234, 0, &mut Vec::new()), None);
        assert_eq!(first_difference(&buffer[20..], &template, 0x1234, 20, &mut Vec::new()), None);
        buffer[22] = b'x';
        assert_eq!(first_difference(&buffer[20..], &template, 0x1234, 20, &mut Vec::new()), Some((2, b'a')));
    }
}
