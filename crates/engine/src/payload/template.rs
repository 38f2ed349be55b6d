//! Patterns that begin anew in each write and may name its place: written, and compared byte by byte.

use iodyno_model::Template;

/// Fills a whole write (or its first part) with the pattern, which begins anew every `interval` bytes; 0: it does not.
pub(super) fn write(buffer: &mut [u8], template: &Template, write_offset: u64, interval: usize) {
    let interval = if interval == 0 { buffer.len() } else { interval };
    let mut offset = write_offset;
    for part in buffer.chunks_mut(interval.max(1)) {
        repeat(part, template, offset);
        offset += interval as u64;
    }
}

fn repeat(buffer: &mut [u8], template: &Template, offset: u64) {
    let period = template.bytes.len();
    if period == 0 {
        return;
    }
    let mut done = buffer.len().min(period);
    buffer[..done].copy_from_slice(&template.bytes[..done]);
    for &at in &template.offsets {
        let end = done.min(at as usize + 8);
        if let Some(place) = buffer.get_mut(at as usize..end) {
            place.copy_from_slice(&offset.to_le_bytes()[..place.len()]);
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
/// what it should be. `interval` is as in [`write`]; `scratch` is room for one period, kept from call to call.
pub(super) fn first_difference(
    part: &[u8],
    template: &Template,
    write_offset: u64,
    phase: usize,
    interval: usize,
    scratch: &mut Vec<u8>,
) -> Option<(usize, u8)> {
    let period = template.bytes.len().max(1);
    scratch.resize(period, 0);
    let mut done = 0;
    while done < part.len() {
        // What lies in one interval: from its start on the period repeats.
        let at = phase + done;
        let (start, left) = match interval {
            0 => (0, part.len() - done),
            interval => (at - at % interval, interval - at % interval),
        };
        repeat(scratch, template, write_offset + start as u64);
        let end = part.len().min(done + left);
        let wrong = differs(&part[done..end], &scratch[..period], at - start);
        if let Some((wrong, byte)) = wrong {
            return Some((done + wrong, byte));
        }
        done = end;
    }
    None
}

/// The first byte that is not that of a period repeated, from `phase` in it on.
fn differs(part: &[u8], period: &[u8], phase: usize) -> Option<(usize, u8)> {
    let mut at = phase % period.len();
    let mut done = 0;
    while done < part.len() {
        let bytes = (period.len() - at).min(part.len() - done);
        if part[done..done + bytes] != period[at..at + bytes] {
            let wrong = (0..bytes).find(|index| part[done + index] != period[at + index])?;
            return Some((done + wrong, period[at + wrong]));
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
        write(&mut buffer, &template, 0x1234, 0);
        assert_eq!(&buffer[..16], b"\xff\x34\x12\0\0\0\0\0\0abcd\xff\x34\x12");
        assert_eq!(&buffer[26..30], b"\xff\x34\x12\0");
        assert_eq!(first_difference(&buffer, &template, 0x1234, 0, 0, &mut Vec::new()), None);
        assert_eq!(first_difference(&buffer[20..], &template, 0x1234, 20, 0, &mut Vec::new()), None);
        buffer[22] = b'x';
        assert_eq!(
            first_difference(&buffer[20..], &template, 0x1234, 20, 0, &mut Vec::new()),
            Some((2, b'a'))
        );
    }

    #[test]
    fn a_pattern_begins_anew_in_each_interval_with_its_own_offset() {
        let template = Template { bytes: b"\0\0\0\0\0\0\0\0ab".to_vec(), offsets: vec![0] };
        let mut buffer = [0; 48];
        write(&mut buffer, &template, 0x1000, 16);
        assert_eq!(&buffer[..16], b"\0\x10\0\0\0\0\0\0ab\0\x10\0\0\0\0");
        assert_eq!(&buffer[16..26], b"\x10\x10\0\0\0\0\0\0ab");
        for phase in [0, 5, 16, 30] {
            let found = |buffer: &[u8]| {
                first_difference(&buffer[phase..], &template, 0x1000, phase, 16, &mut Vec::new())
            };
            assert_eq!(found(&buffer), None, "{phase}");
            let mut wrong = buffer;
            wrong[40] = b'x';
            assert_eq!(found(&wrong), Some((40 - phase, b'a')), "{phase}");
        }
    }
}
