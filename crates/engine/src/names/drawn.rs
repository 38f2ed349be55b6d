//! Trees whose directories draw how deep and how wide they are, as trees that have grown do.
//!
//! A tree costs memory by its directories, sixteen bytes each, never by its items. It is drawn once for all workers of a
//! process that ask for the same one. It refuses to know names: it numbers directories, and says which holds an item.

use std::sync::{Arc, Mutex, Weak};

use iodyno_model::{Size, Tree};

use crate::distribution::Sizes;
use crate::random::Random;

/// Levels below which no directory lies, whatever was drawn: paths have an end.
const DEPTH_MOST: u64 = 64;

/// A tree that was drawn. Directories have numbers in the order they were drawn; the root is 0.
#[derive(Debug, Default)]
pub struct DrawnTree {
    /// For each directory the one it is in, and its place among those of that one.
    directories: Vec<(u32, u32)>,
    /// The first item of each directory that has any, and the directory; in the order of items.
    leaves: Vec<(u64, u32)>,
    depth: u32,
}

/// What a tree follows from.
#[derive(Clone, Debug, PartialEq)]
struct Key {
    tree: Tree,
    items: u64,
}

static KNOWN: Mutex<Vec<(Key, Weak<DrawnTree>)>> = Mutex::new(Vec::new());

impl DrawnTree {
    /// The tree for so many items; the same for the same description. Sizes that cannot be drawn give the root alone.
    pub fn of(tree: &Tree, items: u64) -> Arc<DrawnTree> {
        let key = Key { tree: tree.clone(), items };
        let mut known = KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        known.retain(|(_, drawn)| drawn.strong_count() > 0);
        let found = known.iter().find(|(other, _)| *other == key).and_then(|(_, drawn)| drawn.upgrade());
        found.unwrap_or_else(|| {
            let drawn = Arc::new(DrawnTree::new(tree, items));
            known.push((key, Arc::downgrade(&drawn)));
            drawn
        })
    }

    fn new(tree: &Tree, items: u64) -> DrawnTree {
        let mut drawn = DrawnTree { directories: vec![(0, 0)], leaves: vec![(0, 0)], depth: 0 };
        let (Ok(depths), Ok(widths)) = (Sizes::new(&tree.depths), Sizes::new(&tree.widths)) else {
            return drawn;
        };
        if items as f64 <= mean(&tree.widths) {
            return drawn;
        }
        drawn.leaves.clear();
        let mut random = Random::from_seed(tree.seed, 0);
        let mut next = 0;
        // Directories under way: the number, the children still to come (the root has as many as it takes), their place.
        let mut open: Vec<(u32, u64, u32)> = vec![(0, u64::MAX, 0)];
        while let Some((above, left, place)) = open.last_mut() {
            if *left == 0 || next >= items {
                open.pop();
                continue;
            }
            let parent = (*above, *place);
            (*left, *place) = (*left - 1, *place + 1);
            let number = drawn.directories.len() as u32;
            drawn.directories.push(parent);
            let level = open.len() as u64;
            drawn.depth = drawn.depth.max(level as u32);
            let width = widths.draw(&mut random).max(1);
            if level + 1 >= depths.draw(&mut random).min(DEPTH_MOST) {
                drawn.leaves.push((next, number));
                next += width;
            } else {
                open.push((number, width, 0));
            }
        }
        drawn
    }

    /// Directories of the tree, with the root.
    pub fn directories(&self) -> u64 {
        self.directories.len() as u64
    }

    /// Levels below the root.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// The directory that one is in, and its place there.
    pub fn above(&self, directory: u64) -> (u64, u64) {
        let (above, place) = self.directories[directory as usize];
        (above.into(), place.into())
    }

    /// The directory that holds an item, and how many of the following items lie there too.
    pub fn place(&self, item: u64) -> (u64, u64) {
        let after = self.leaves.partition_point(|(first, _)| *first <= item);
        let (_, directory) = self.leaves[after.saturating_sub(1)];
        let left = self.leaves.get(after).map_or(u64::MAX, |(first, _)| first - item - 1);
        (directory.into(), left)
    }
}

fn mean(size: &Size) -> f64 {
    match size {
        Size::Fixed(bytes) => *bytes as f64,
        Size::Gamma { mean_bytes, .. } | Size::Normal { mean_bytes, .. } => *mean_bytes,
        Size::Poisson { mean } => *mean,
        Size::Uniform { least_bytes, most_bytes, .. } => (*least_bytes as f64 + *most_bytes as f64) / 2.0,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(seed: u64) -> Tree {
        let gamma = |mean_bytes| Size::Gamma { mean_bytes, shape: 1.5 };
        Tree { depths: gamma(3.0), widths: gamma(20.0), seed }
    }

    #[test]
    fn every_item_has_a_directory_and_seeds_differ() {
        let (one, two) = (DrawnTree::new(&tree(1), 10_000), DrawnTree::new(&tree(2), 10_000));
        assert_ne!(one.directories, two.directories);
        assert_eq!(one.directories, DrawnTree::new(&tree(1), 10_000).directories);
        let mut item = 0;
        let mut seen = Vec::new();
        while item < 10_000 {
            let (directory, left) = one.place(item);
            seen.push(directory);
            let last = item.saturating_add(left).min(9_999);
            assert_eq!(one.place(last).0, directory);
            item = last + 1;
        }
        assert!((200..2_000).contains(&seen.len()), "{}", seen.len());
        assert!(seen.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(one.depth() > 1);
    }

    #[test]
    fn ten_million_items_cost_by_their_directories() {
        let drawn = DrawnTree::new(&tree(3), 10_000_000);
        let bytes = drawn.directories.capacity() * 8 + drawn.leaves.capacity() * 16;
        assert!(bytes < 64 << 20, "{bytes}");
        let flat = DrawnTree::new(&Tree { widths: Size::Fixed(20_000_000), ..tree(3) }, 10_000_000);
        assert_eq!((flat.directories(), flat.place(9_999_999).0), (1, 0));
    }
}
