//! Chance that a failed run can be repeated with.

/// Numbers from a seed, which is printed: the one in `HTUI_SEED`, or the time.
pub struct Chance(u64);

impl Chance {
    pub fn new(what: &str) -> Self {
        let given = std::env::var("HTUI_SEED").ok().map(|text| text.parse().expect("HTUI_SEED is a number"));
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("after 1970").as_millis() as u64;
        let seed: u64 = given.unwrap_or(now);
        println!("{what}: HTUI_SEED={seed}");
        Self(seed.max(1))
    }

    /// A number below this one.
    pub fn below(&mut self, end: usize) -> usize {
        // Marsaglia's xorshift64* (Journal of Statistical Software 8/14, 2003), the high half.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) % end as u64) as usize
    }

    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}
