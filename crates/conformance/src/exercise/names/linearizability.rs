//! Whether some order of the moments of concurrent calls explains what each of them was answered, and what is there in
//! the end.
//!
//! A search, in depth first, over all orders that keep to time: a call that ended before another began came before it. States that
//! were seen already are not looked at again, so that even the worst small history is decided in milliseconds.

use std::collections::HashSet;

use super::call::{NameCall, Verb};
use super::state::{Cursor, ModelAnswer, ModelState, Next, Seen};

/// A call that was made.
#[derive(Clone, Debug)]
pub struct Event {
    pub call: NameCall,
    /// When it began and ended, ns.
    pub began: u64,
    pub ended: u64,
    pub answer: ModelAnswer,
}

/// What each process did, after what was there before.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub before: ModelState,
    pub processes: Vec<Vec<Event>>,
    /// What was found when all was over; none: nobody looked.
    pub after: Option<Vec<Seen>>,
}

/// Where each process is: its event, and how far that is.
type Places = Vec<(u8, Option<Cursor>)>;

/// A point of the search: where each process is, and what is there.
type Point = (Places, ModelState);

impl History {
    /// Whether an order explains it.
    pub fn is_explained(&self) -> bool {
        let mut known: HashSet<Point> = HashSet::new();
        let mut points = vec![(vec![(0, None); self.processes.len()], self.before.clone())];
        let mut next = Vec::new();
        while let Some(point) = points.pop() {
            if !known.insert(point.clone()) {
                continue;
            }
            if self.is_end(&point) {
                return true;
            }
            self.further(&point, &mut next);
            // The likeliest is looked at first.
            points.extend(next.drain(..).rev());
        }
        false
    }

    fn event(&self, process: usize, places: &Places) -> Option<&Event> {
        self.processes[process].get(places[process].0 as usize)
    }

    /// Whether all calls are made, and left what was found.
    fn is_end(&self, (places, state): &Point) -> bool {
        (0..places.len()).all(|process| self.event(process, places).is_none())
            && self.after.as_ref().is_none_or(|after| *after == state.seen())
    }

    /// All points that can come next, the likeliest first: what ended first most likely came first.
    fn further(&self, (places, state): &Point, next: &mut Vec<Point>) {
        let open = (0..places.len()).filter_map(|process| Some((self.event(process, places)?, process)));
        let mut open: Vec<(&Event, usize)> = open.collect();
        open.sort_by_key(|(event, process)| (event.ended, *process));
        let Some(first_end) = open.first().map(|(event, _)| event.ended) else { return };
        let able = open.into_iter().filter(|(event, _)| event.began <= first_end);
        next.extend(able.filter_map(|(event, process)| self.step(process, event, places, state)));
    }

    /// One step of a process; none: it cannot be what the call did.
    fn step(&self, process: usize, event: &Event, places: &Places, state: &ModelState) -> Option<Point> {
        let cursor = places[process].1.unwrap_or_else(|| Cursor::start(&event.call));
        let done = (places[process].0 + 1, None);
        let (place, state) = match (state.step(&event.call, cursor), event.answer) {
            (Next::Go(further), _) => ((places[process].0, Some(further)), state.clone()),
            (Next::Fail(wrong), ModelAnswer::Failed(number)) if wrong.contains(&number) => {
                (done, state.clone())
            }
            (Next::Answer(answer, after), found) if answer == found => {
                (done, after.unwrap_or_else(|| state.clone()))
            }
            (Next::Answer(ModelAnswer::Found(kind, has), None), ModelAnswer::Found(found, saw))
                if kind == found && u64::from(has.abs_diff(saw)) <= self.counting(event) =>
            {
                (done, state.clone())
            }
            _ => return None,
        };
        let mut places = places.clone();
        places[process] = place;
        Some((places, state))
    }

    /// How many calls were just about to add or take a name while another looked: a file's count of names changes a moment
    /// before or after the name itself, and nothing demands that looking waits for both.
    fn counting(&self, look: &Event) -> u64 {
        let counts = |event: &&Event| matches!(event.call.verb, Verb::Link | Verb::Unlink | Verb::Rename);
        let meanwhile = |event: &&Event| event.began <= look.ended && event.ended >= look.began;
        self.processes.iter().flatten().filter(counts).filter(meanwhile).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::NodeKind;
    use super::*;

    const DONE: ModelAnswer = ModelAnswer::Done;
    const ENOENT: ModelAnswer = ModelAnswer::Failed(libc::ENOENT);

    fn event(line: &str, began: u64, ended: u64, answer: ModelAnswer) -> Event {
        Event { call: NameCall::parse(line).unwrap(), began, ended, answer }
    }

    fn history(before: &[&str], processes: Vec<Vec<Event>>, after: Option<&[&str]>) -> History {
        let state = |lines: &[&str]| {
            let mut state = ModelState::default();
            for line in lines {
                state.call(&NameCall::parse(line).unwrap()).unwrap();
            }
            state
        };
        History { before: state(before), processes, after: after.map(|lines| state(lines).seen()) }
    }

    #[test]
    fn one_of_two_creators_wins() {
        let race = |one, other| {
            let lists = vec![vec![event("create a", 0, 10, one)], vec![event("create a", 5, 15, other)]];
            history(&[], lists, Some(&["create a"])).is_explained()
        };
        let exists = ModelAnswer::Failed(libc::EEXIST);
        assert!(race(DONE, exists) && race(exists, DONE));
        assert!(!race(DONE, DONE) && !race(exists, exists));
    }

    #[test]
    fn a_rename_is_one_moment() {
        // Somebody looks at both names while one becomes the other.
        let race = |began_b: u64, a, b| {
            let looks = vec![event("stat a", 1, 2, a), event("stat b", began_b, began_b + 1, b)];
            let lists = vec![vec![event("rename a b", 0, 10, DONE)], looks];
            history(&["create a"], lists, Some(&["create b"])).is_explained()
        };
        let file = ModelAnswer::Found(NodeKind::File, 1);
        assert!(race(3, file, file) && race(3, file, ENOENT) && race(3, ENOENT, file));
        assert!(!race(3, ENOENT, ENOENT), "the file was nowhere");
        let back = |a, b| {
            let looks = vec![event("stat b", 1, 2, b), event("stat a", 3, 4, a)];
            history(&["create a"], vec![vec![event("rename a b", 0, 10, DONE)], looks], None).is_explained()
        };
        assert!(!back(file, file), "the new name was there, and then still the old one");
    }

    #[test]
    fn what_ended_before_came_before() {
        let race = |began| {
            let lists = vec![
                vec![event("unlink a", 0, 10, DONE)],
                vec![event("stat a", began, 30, ModelAnswer::Found(NodeKind::File, 1))],
            ];
            history(&["create a"], lists, None).is_explained()
        };
        assert!(race(5) && race(10));
        assert!(!race(11), "it was gone already");
    }

    #[test]
    fn what_is_left_must_fit() {
        let race = |after: &[&str]| {
            let lists = vec![vec![event("rename a c", 0, 10, DONE)], vec![event("rename b c", 0, 10, DONE)]];
            history(&["create a", "create b"], lists, Some(after)).is_explained()
        };
        assert!(race(&["create c"]));
        assert!(!race(&["create a"]) && !race(&[]) && !race(&["create a", "link a c"]));
    }

    #[test]
    fn a_path_is_looked_up_name_by_name() {
        // The directory was found under its old name, and the file made under the new one: no moment had both.
        let lists = vec![
            vec![event("stat a/b", 0, 20, ModelAnswer::Found(NodeKind::File, 1))],
            vec![event("rename a c", 5, 6, DONE), event("create c/b", 7, 8, DONE)],
        ];
        assert!(history(&["mkdir a"], lists, None).is_explained());
        let lists = vec![
            vec![event("create a/b", 0, 20, DONE)],
            vec![event("rmdir a", 5, 6, DONE), event("stat a", 7, 8, ENOENT)],
        ];
        assert!(!history(&["mkdir a"], lists, None).is_explained(), "nothing is made in what is removed");
    }
}
