//! Things that can be asked for by their names: those of this crate, and what other crates add.

use crate::SettingError;
use std::sync::{PoisonError, RwLock};

/// A thing with a name.
pub(crate) trait Named {
    /// What kind of thing it is: `strategy`.
    const WHAT: &'static str;

    /// Its name.
    fn name(&self) -> &'static str;
}

/// All things of a kind.
pub(crate) struct Registry<T: 'static> {
    ours: &'static [&'static T],
    added: RwLock<Vec<&'static T>>,
}

impl<T: Named> Registry<T> {
    /// Those of this crate, the default first.
    pub const fn new(ours: &'static [&'static T]) -> Self {
        Registry { ours, added: RwLock::new(Vec::new()) }
    }

    /// All there are, those of this crate first.
    pub fn all(&self) -> Vec<&'static T> {
        let added = self.added.read().unwrap_or_else(PoisonError::into_inner);
        self.ours.iter().chain(&*added).copied().collect()
    }

    /// The one of a name.
    pub fn named(&self, name: &str) -> Option<&'static T> {
        self.all().into_iter().find(|known| known.name() == name)
    }

    /// Adds one of another crate; a name is taken once.
    pub fn add(&self, thing: &'static T) -> Result<(), SettingError> {
        let name = thing.name();
        let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let refused = |expected| Err(SettingError::new(T::WHAT, format!("'{name}'"), expected));
        if name.is_empty() || !name.chars().all(letters) {
            return refused("a name has small letters, digits and hyphens");
        }
        let mut added = self.added.write().unwrap_or_else(PoisonError::into_inner);
        if self.ours.iter().chain(&*added).any(|known| known.name() == name) {
            return refused("there is one of that name already");
        }
        added.push(thing);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Word(&'static str);

    impl Named for Word {
        const WHAT: &'static str = "word";

        fn name(&self) -> &'static str {
            self.0
        }
    }

    #[test]
    fn names_are_taken_once_and_found_again() {
        static WORDS: Registry<Word> = Registry::new(&[&Word("one")]);
        WORDS.add(&Word("two")).unwrap();
        for taken in ["one", "two"] {
            let word = WORDS.named(taken).unwrap();
            let said = WORDS.add(word).unwrap_err().to_string();
            assert_eq!(said, format!("word is '{taken}'; there is one of that name already"));
        }
        for wrong in [&Word(""), &Word("Three"), &Word("a b"), &Word("x:y")] {
            assert!(WORDS.add(wrong).unwrap_err().to_string().ends_with("digits and hyphens"));
        }
        let names: Vec<&str> = WORDS.all().iter().map(|w| w.0).collect();
        assert_eq!(names, ["one", "two"]);
        assert!(WORDS.named("three").is_none());
    }
}
