//! The pages of the kernel's trace buffer, as `trace_pipe_raw` gives them.
//!
//! A page has its time, how many bytes of events follow, and the events: a word with a type or a length in units of four
//! bytes (5 bits) and the ns since the event before (27 bits), then the event itself. Source: `include/linux/ring_buffer.h`.

/// Bytes before the events of a page.
const PAGE_HEADER: usize = 16;
/// The committed bytes of a page, in the word that also has flags.
const COMMIT_MASK: u64 = (1 << 20) - 1;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Of an absolute time only these bits are stored; the others are the page's.
const STAMP_BITS: u32 = 59;

/// What a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallPart {
    Enter { number: u64, arguments: [u64; 6] },
    Exit { number: u64, result: i64 },
}

/// The begin or the end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallEvent {
    pub at_ns: u64,
    pub thread: u32,
    pub part: CallPart,
}

/// The kernel's numbers of the two events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventNumbers {
    pub enter: u16,
    pub exit: u16,
}

/// Appends the events of a page, in the order of their times. What is no event of a call is passed over.
pub fn parse_page(page: &[u8], numbers: EventNumbers, events: &mut Vec<CallEvent>) {
    let (Some(mut at_ns), Some(commit)) = (word64(page, 0), word64(page, 8)) else { return };
    let end = (PAGE_HEADER + (commit & COMMIT_MASK) as usize).min(page.len());
    let mut at = PAGE_HEADER;
    while let Some(head) = word32(&page[..end], at) {
        let (kind, delta) = (head & 31, u64::from(head >> 5));
        let extra = || word32(page, at + 4).map(u64::from);
        let (body, length) = match kind {
            TIME_EXTEND | TIME_STAMP => {
                let Some(high) = extra() else { return };
                let value = high << 27 | delta;
                at_ns = match kind {
                    TIME_EXTEND => at_ns.wrapping_add(value),
                    _ => at_ns >> STAMP_BITS << STAMP_BITS | value,
                };
                at += 8;
                continue;
            }
            // A page's rest has no length; a discarded event has one.
            PADDING if delta == 0 => return,
            PADDING => match extra() {
                Some(length) => (None, length as usize),
                None => return,
            },
            0 => match extra() {
                // The length counts itself.
                Some(length) if length >= 4 => (Some(at + 8), length as usize),
                _ => return,
            },
            words => (Some(at + 4), words as usize * 4),
        };
        at_ns = at_ns.wrapping_add(delta);
        let next = at + 4 + length;
        if let Some(event) = body.and_then(|body| parse_event(page.get(body..next)?, at_ns, numbers)) {
            events.push(event);
        }
        at = next;
    }
}

/// `common_type` (16 bits), `common_pid` at 4, then the number of the call and its arguments, or its result.
fn parse_event(body: &[u8], at_ns: u64, numbers: EventNumbers) -> Option<CallEvent> {
    let kind = u16::from_ne_bytes(body.get(..2)?.try_into().ok()?);
    let thread = word32(body, 4)?;
    let number = word64(body, 8)?;
    let part = if kind == numbers.enter {
        let mut arguments = [0; 6];
        for (index, argument) in arguments.iter_mut().enumerate() {
            *argument = word64(body, 16 + 8 * index)?;
        }
        CallPart::Enter { number, arguments }
    } else if kind == numbers.exit {
        CallPart::Exit { number, result: word64(body, 16)? as i64 }
    } else {
        return None;
    };
    Some(CallEvent { at_ns, thread, part })
}

fn word32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn word64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: EventNumbers = EventNumbers { enter: 443, exit: 442 };

    fn page(time: u64, events: &[Vec<u8>]) -> Vec<u8> {
        let data = events.concat();
        let mut page = time.to_ne_bytes().to_vec();
        page.extend((data.len() as u64 | 1 << 31).to_ne_bytes());
        page.extend(data);
        page.resize(4096, 0);
        page
    }

    fn event(kind: u16, delta: u32, words: &[u64]) -> Vec<u8> {
        let length = 8 + 8 * words.len() as u32;
        let mut event = ((delta << 5) | (length / 4)).to_ne_bytes().to_vec();
        event.extend(kind.to_ne_bytes());
        event.extend([0, 0]);
        event.extend(77u32.to_ne_bytes());
        words.iter().for_each(|word| event.extend(word.to_ne_bytes()));
        event
    }

    fn special(kind: u32, low: u32, high: u32) -> Vec<u8> {
        [((low << 5) | kind).to_ne_bytes(), high.to_ne_bytes()].concat()
    }

    #[test]
    fn events_have_their_times() {
        let page = page(
            1 << 60 | 5000,
            &[
                event(443, 0, &[1, 3, 4, 5, 6, 7, 8]),
                event(442, 20, &[1, -9i64 as u64]),
                special(TIME_EXTEND, 3, 1),
                event(999, 1, &[0]),
                [special(PADDING, 1, 8), vec![0; 4]].concat(),
                event(442, 1, &[0, 17]),
                special(TIME_STAMP, 9, 2),
                event(442, 0, &[2, 1]),
            ],
        );
        let mut events = Vec::new();
        parse_page(&page, NUMBERS, &mut events);
        let base = 1 << 60 | 5000;
        let at = |at_ns, part| CallEvent { at_ns, thread: 77, part };
        let expected = [
            at(base, CallPart::Enter { number: 1, arguments: [3, 4, 5, 6, 7, 8] }),
            at(base + 20, CallPart::Exit { number: 1, result: -9 }),
            at(base + 20 + (1 << 27) + 3 + 1 + 1 + 1, CallPart::Exit { number: 0, result: 17 }),
            at(1 << 60 | 2 << 27 | 9, CallPart::Exit { number: 2, result: 1 }),
        ];
        assert_eq!(events, expected);
    }

    #[test]
    fn a_page_that_was_cut_gives_what_it_has() {
        let whole = page(0, &[event(442, 1, &[0, 17]), event(442, 1, &[0, 18])]);
        for length in 0..whole.len().min(80) {
            let mut events = Vec::new();
            parse_page(&whole[..length], NUMBERS, &mut events);
            assert!(events.len() <= 2, "{length}");
        }
        let zeros = [vec![0u8; 8], 64u64.to_ne_bytes().to_vec(), vec![0; 64]].concat();
        parse_page(&zeros, NUMBERS, &mut Vec::new());
    }
}
