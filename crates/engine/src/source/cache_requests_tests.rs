//! What requests find is held against arithmetic: sizes, order, and Che's approximation of an LRU cache.

use iodyno_model::Size;

use super::*;

fn asked(count: u64) -> CacheRequests {
    let (prompt, answer) = (Size::Fixed(32), Size::Fixed(0));
    CacheRequests { count, prompt, answer, block_tokens: 16, capacity: 100, ..CacheRequests::default() }
}

fn cached(list: &RequestList) -> Vec<u64> {
    list.requests.iter().map(|request| request.cached_tokens).collect()
}

#[test]
fn a_conversation_finds_what_its_turns_before_have_stored() {
    let asked = CacheRequests { turns: 3, answer: Size::Fixed(16), ..asked(5) };
    let list = RequestList::new(&asked).unwrap();
    // 32 tokens are asked and 16 answered: three blocks more each turn, and then another conversation.
    assert_eq!(cached(&list), [0, 48, 96, 0, 48]);
    let tokens: Vec<_> = list.requests.iter().map(|request| request.tokens).collect();
    assert_eq!(tokens, [32, 80, 128, 32, 80]);
    // The beginning is taken in last, as it counts as used last.
    assert_eq!(list.places(&list.requests[1], false), [2, 1, 0]);
    assert_eq!(list.places(&list.requests[1], true), [5, 4, 3]);
    assert_eq!(list.requests[2].computed_tokens(), 32);
    assert_eq!(asked.most_tokens(), 144);
}

#[test]
fn the_blocks_used_longest_ago_make_room_and_a_hole_ends_the_cached_part() {
    // Two blocks fit of the three that each turn comes to.
    let small = CacheRequests { turns: 2, prompt: Size::Fixed(48), capacity: 2, ..asked(4) };
    let list = RequestList::new(&small).unwrap();
    assert_eq!(cached(&list), [0, 32, 0, 32]);
    assert_eq!(list.places(&list.requests[0], true).len(), 2, "what cannot fit is not stored");
    assert_eq!(list.places(&list.requests[2], true), [1, 0], "in the places of the other conversation");
}

#[test]
fn common_beginnings_are_found_by_other_conversations_up_to_whole_blocks() {
    let shared = CacheRequests { prefixes: 1, prefix_tokens: 40, prefixed_percent: 100.0, ..asked(3) };
    // Of 40 common tokens two blocks are whole.
    assert_eq!(cached(&RequestList::new(&shared).unwrap()), [0, 32, 32]);
    let memory = CacheRequests { memory: 1, ..shared };
    let list = RequestList::new(&memory).unwrap();
    assert_eq!(list.requests[1].memory_tokens, 16, "the beginning was used last");
    assert_eq!(list.places(&list.requests[1], false), [2]);
}

#[test]
fn requests_before_fill_the_cache_and_do_not_come() {
    let long = CacheRequests { turns: 9, ..asked(4) };
    let late = CacheRequests { before: 2, count: 2, ..long.clone() };
    let (all, late) = (RequestList::new(&long).unwrap(), RequestList::new(&late).unwrap());
    assert_eq!(cached(&late), cached(&all)[2..]);
    assert_eq!(late.places(&late.requests[0], true), all.places(&all.requests[2], true));
}

#[test]
fn arrivals_have_their_rate_and_are_the_same_for_a_seed() {
    let rated = CacheRequests { per_second: 1000.0, ..asked(20_000) };
    let list = RequestList::new(&rated).unwrap();
    let last = list.requests.last().unwrap().at_ns as f64 / 1e9;
    assert!((last - 20.0).abs() < 0.5, "{last}");
    assert_eq!(list.requests, RequestList::new(&rated).unwrap().requests);
    let other = RequestList::new(&CacheRequests { seed: 7, ..rated }).unwrap();
    assert_ne!(list.requests, other.requests);
}

#[test]
fn recorded_requests_come_as_they_came_and_find_equal_blocks() {
    let came = |at_ns, tokens, blocks: &[u64]| iodyno_model::kv_cache::RecordedRequest {
        at_ns,
        tokens,
        answer: 5,
        blocks: blocks.to_vec(),
    };
    let recorded = vec![
        came(0, 40, &[7, 8, 9]),
        came(10, 64, &[7, 8, 1, 2]),
        came(10, 64, &[3, 8, 1, 2]),
        came(20, 16, &[2]),
    ];
    let list = RequestList::new(&CacheRequests { recorded, ..asked(4) }).unwrap();
    // The third block of the first has 8 of 16 tokens; the third request's hole is at its beginning.
    assert_eq!(cached(&list), [0, 32, 0, 16]);
    assert_eq!(list.requests.iter().map(|request| request.at_ns).collect::<Vec<_>>(), [0, 10, 10, 20]);
    assert_eq!(list.places(&list.requests[0], true), [1, 0], "the beginning is taken in last");
    assert_eq!(list.places(&list.requests[1], false), [1, 0]);
    assert_eq!(list.places(&list.requests[1], true), [3, 2]);
    assert_eq!(list.places(&list.requests[2], true).len(), 4, "what is there is named anew after a hole");
    let few = CacheRequests { count: 1, recorded: vec![came(0, 16, &[1]), came(1, 16, &[1])], ..asked(1) };
    assert_eq!(RequestList::new(&few).unwrap().requests.len(), 1);
}

/// The hit rate of an LRU cache whose blocks are asked for independently. Source: Che, Tung, Wang, "Hierarchical web caching
/// systems: modeling, design and experimental results", 2002.
fn che(blocks: u64, capacity: f64, theta: f64) -> f64 {
    let weights: Vec<f64> = (1..=blocks).map(|rank| (rank as f64).powf(-theta)).collect();
    let total: f64 = weights.iter().sum();
    let hit = |time: f64| weights.iter().map(move |weight| 1.0 - (-weight / total * time).exp());
    let (mut low, mut high) = (0.0, 1e9);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if hit(middle).sum::<f64>() < capacity { low = middle } else { high = middle }
    }
    hit(low).zip(&weights).map(|(hit, weight)| hit * weight / total).sum()
}

#[test]
fn the_hit_rate_is_that_of_che() {
    for (theta, capacity) in [(0.8, 100), (1.1, 100), (0.8, 300), (0.0, 250)] {
        // Each request begins with one of a thousand blocks; what follows is less than a block.
        let asked = CacheRequests {
            theta,
            capacity,
            before: 20_000,
            prefixes: 1000,
            prefix_tokens: 16,
            prefixed_percent: 100.0,
            prompt: Size::Fixed(1),
            ..asked(100_000)
        };
        let list = RequestList::new(&asked).unwrap();
        let hits = list.requests.iter().filter(|request| request.cached_tokens > 0).count() as f64 / 1e5;
        let expected = che(1000, capacity as f64, theta);
        assert!((hits - expected).abs() < 0.006, "{theta} {capacity}: {hits}, and Che says {expected}");
    }
}
