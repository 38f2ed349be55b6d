//! postmark's random numbers: the Mersenne Twister MT19937, begun by a seed as its first edition (1998) did.
//!
//! The same seed gives the same files, lengths and choices as the original's. Source: M. Matsumoto and T. Nishimura, *Mersenne
//! Twister*, ACM Transactions on Modeling and Computer Simulation 8 (1998), and the seeding that its edition of 1999 has.

/// Words of the state, and how far apart those are that are mixed.
const WORDS: usize = 624;
const APART: usize = 397;
/// What is mixed in where the lowest bit is set.
const TWIST: u32 = 0x9908_b0df;

/// Draws whole numbers.
pub struct Twister {
    words: Vec<u32>,
    next: usize,
}

impl Twister {
    /// Each word has the upper halves of two numbers in succession of a linear congruential generator.
    pub fn new(seed: u32) -> Twister {
        let mut number = seed;
        let mut upper_half = || {
            let upper = number >> 16;
            number = number.wrapping_mul(69069).wrapping_add(1);
            upper
        };
        let words = (0..WORDS).map(|_| upper_half() << 16 | upper_half()).collect();
        Twister { words, next: WORDS }
    }

    /// A number below an end; 0 where there is none, and then nothing is drawn.
    pub fn below(&mut self, end: i64) -> i64 {
        if end <= 0 { 0 } else { i64::from(self.draw()) % end }
    }

    fn draw(&mut self) -> u32 {
        if self.next == WORDS {
            self.turn();
        }
        let mut word = self.words[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= word << 7 & 0x9d2c_5680;
        word ^= word << 15 & 0xefc6_0000;
        word ^ word >> 18
    }

    fn turn(&mut self) {
        for at in 0..WORDS {
            let joined = self.words[at] & 1 << 31 | self.words[(at + 1) % WORDS] & (u32::MAX >> 1);
            let twist = if joined & 1 == 1 { TWIST } else { 0 };
            self.words[at] = self.words[(at + APART) % WORDS] ^ joined >> 1 ^ twist;
        }
        self.next = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What postmark 1.51 wrote at the beginning of each file with its usual seed.
    #[test]
    fn the_text_of_seed_42_is_the_originals() {
        let mut twister = Twister::new(42);
        let text: String = (0..31).map(|_| (32 + twister.below(95)) as u8 as char).collect();
        assert_eq!(text, "LeZebJ6S5~qPv$C$py}hmKd H58nM4~");
        assert_eq!((twister.below(0), twister.below(-3)), (0, 0));
    }
}
