//! What was learned from a text, kept as long as there is room: the same text is not parsed twice.

use std::collections::HashMap;
use std::mem;
use std::sync::{Mutex, PoisonError};

use super::Grammar;

/// The same text may be read as another language.
type Key = (Grammar, blake3::Hash);

/// In two generations: what is used moves to the younger one, and the older one goes when the younger is full.
#[derive(Debug)]
pub(crate) struct ByContent<T> {
    generations: Mutex<Generations<T>>,
    /// How much one generation may weigh.
    capacity: usize,
}

#[derive(Debug)]
struct Generations<T> {
    young: HashMap<Key, Kept<T>>,
    old: HashMap<Key, Kept<T>>,
    weight: usize,
}

#[derive(Debug)]
struct Kept<T> {
    value: T,
    weight: usize,
}

impl<T: Clone> ByContent<T> {
    pub(crate) fn new(capacity: usize) -> Self {
        let generations = Generations { young: HashMap::new(), old: HashMap::new(), weight: 0 };
        Self { generations: Mutex::new(generations), capacity }
    }

    /// `make` says how much its value weighs; what it fails at is not kept. Two threads may make the same at once.
    pub(crate) fn get_or_make<E>(
        &self,
        grammar: Grammar,
        text: &str,
        make: impl FnOnce() -> Result<(T, usize), E>,
    ) -> Result<T, E> {
        let key = (grammar, blake3::hash(text.as_bytes()));
        if let Some(known) = self.get(&key) {
            return Ok(known);
        }
        let (value, weight) = make()?;
        self.keep(key, Kept { value: value.clone(), weight });
        Ok(value)
    }

    fn get(&self, key: &Key) -> Option<T> {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = generations.young.get(key) {
            return Some(kept.value.clone());
        }
        let kept = generations.old.remove(key)?;
        let value = kept.value.clone();
        generations.insert(*key, kept, self.capacity);
        Some(value)
    }

    fn keep(&self, key: Key, kept: Kept<T>) {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        generations.insert(key, kept, self.capacity);
    }
}

impl<T> Generations<T> {
    fn insert(&mut self, key: Key, kept: Kept<T>, capacity: usize) {
        if self.weight + kept.weight > capacity {
            self.old = mem::take(&mut self.young);
            self.weight = 0;
        }
        self.weight += kept.weight;
        self.young.insert(key, kept);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::convert::Infallible;

    use super::{ByContent, Grammar};

    #[test]
    fn the_same_text_is_made_once_as_long_as_there_is_room() {
        let cache = ByContent::new(10);
        let made = Cell::new(0);
        let get = |grammar, text: &str| {
            let make = || {
                made.set(made.get() + 1);
                Ok::<_, Infallible>((text.len(), 4))
            };
            cache.get_or_make(grammar, text, make).unwrap()
        };
        assert_eq!((get(Grammar::C, "a"), get(Grammar::C, "a"), made.get()), (1, 1, 1));
        assert_eq!((get(Grammar::Cpp, "a"), made.get()), (1, 2), "another language, another tree");
        get(Grammar::C, "bb");
        get(Grammar::C, "ccc");
        assert_eq!(made.get(), 4);
        // Two generations of two each: all are still there, and the one that was used is among the younger.
        get(Grammar::C, "a");
        assert_eq!(made.get(), 4);
        for text in ["1", "2", "3", "4"] {
            get(Grammar::C, text);
        }
        get(Grammar::C, "a");
        assert_eq!(made.get(), 9, "what nobody used went");
    }
}
