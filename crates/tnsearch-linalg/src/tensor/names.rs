//! What the modes of a reshaped tensor are called.

use super::Reshape;
use std::borrow::Cow;

pub(super) fn factor_name(base: &str, k: usize, of: usize) -> String {
    if of == 1 { base.to_owned() } else { format!("{base}.{k}") }
}

/// The names of the new modes: modes are read from both shapes until their sizes agree, and those between two such
/// places are made of one another.
pub(super) fn names(from: &[usize], to: &[usize]) -> Vec<String> {
    let mut names = Vec::with_capacity(to.len());
    let (mut a, mut b) = (0, 0);
    while b < to.len() {
        let (first, begin) = (a, b);
        let (mut old, mut new) = (1u128, 1u128);
        if a < from.len() {
            (old, a) = (from[a] as u128, a + 1);
        }
        (new, b) = (new * to[b] as u128, b + 1);
        while old != new || (b == to.len() && a < from.len()) {
            if b == to.len() || (old < new && a < from.len()) {
                (old, a) = (old.saturating_mul(from[a] as u128), a + 1);
            } else {
                (new, b) = (new.saturating_mul(to[b] as u128), b + 1);
            }
        }
        // Modes of length 1 at the end belong to what is there.
        if a == from.len() && to[b..].iter().all(|&d| d == 1) {
            b = to.len();
        }
        let numbers: Vec<String> = (first..a).map(|n| n.to_string()).collect();
        let base = match numbers.len() {
            0 => "one".to_owned(),
            _ => format!("m{}", numbers.join("+")),
        };
        names.extend((begin..b).map(|k| factor_name(&base, k - begin, b - begin)));
    }
    names
}

/// What the modes of a tensor are called in pictures and words: `m0`, `m1`, ..., or by the factors they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModeNames<'r>(Option<&'r Reshape>);

impl<'r> ModeNames<'r> {
    /// The names of a tensor's modes, of one that was reshaped or not.
    pub fn new(reshape: Option<&'r Reshape>) -> Self {
        ModeNames(reshape)
    }

    /// The name of a mode: `m3`, `m0.1`.
    pub fn of(&self, mode: usize) -> Cow<'r, str> {
        match self.0.and_then(|r| r.names().get(mode)) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(format!("m{mode}")),
        }
    }

    /// The name after the word "mode": `3`, `0.1`.
    pub fn bare(&self, mode: usize) -> Cow<'r, str> {
        match self.of(mode) {
            Cow::Borrowed(name) => Cow::Borrowed(name.strip_prefix('m').unwrap_or(name)),
            Cow::Owned(name) => Cow::Owned(name.trim_start_matches('m').to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_modes_are_made_of() {
        let of = |from: &[usize], to: &[usize]| names(from, to).join(" ");
        assert_eq!(of(&[16, 4], &[4, 4, 4]), "m0.0 m0.1 m1");
        assert_eq!(of(&[4, 4, 3], &[16, 3]), "m0+1 m2");
        assert_eq!(of(&[6, 6], &[4, 9]), "m0+1.0 m0+1.1");
        assert_eq!(of(&[2, 1], &[2]), "m0+1");
        assert_eq!(of(&[2, 3], &[2, 3, 1]), "m0 m1.0 m1.1");
        assert_eq!(of(&[], &[1, 1]), "one.0 one.1");
        let split = Reshape::shape(&[16, 4], vec![4, 4, 4], false).unwrap();
        let names = ModeNames::new(split.as_ref());
        assert_eq!([names.of(1), names.bare(1), names.bare(2)], ["m0.1", "0.1", "1"]);
        assert_eq!([ModeNames::default().of(12), ModeNames::default().bare(12)], ["m12", "12"]);
    }
}
