//! Which titles are nearly the same: an index of the words in titles.
//!
//! A title is compared only with those that have the same numbers or, without any, share a word with it, rarest words
//! first, and with at most so many of them: so a create costs the same among ten thousand beads as among ten. Most
//! processes ask once or never, and looking at every title once costs a fraction of making an index: so the index is made
//! when somebody asks again, and kept up from then on.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Lineage, Title};

/// How many titles one title is compared with. Those that are the same to the word come first, and rare words before
/// frequent ones: what is left out shares nothing but words that are everywhere.
const MAX_COMPARED: usize = 100;

/// Words of a title beyond these do not count.
const MAX_WORDS: usize = 40;

/// Words that say nothing about what a title is about.
const FILLERS: [&str; 16] =
    ["a", "an", "and", "at", "by", "for", "from", "in", "into", "is", "of", "on", "or", "the", "to", "with"];

/// The words of a title in lower case, sorted, without fillers, each after a blank: a title is taken apart once, and kept in
/// no more room than it takes itself.
#[derive(Debug, PartialEq, Eq)]
struct Gist(String);

impl Gist {
    fn of(title: &Title) -> Self {
        let lower = title.as_str().to_lowercase();
        let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let all: BTreeSet<&str> = words.take(MAX_WORDS).collect();
        let telling = || all.iter().filter(|word| !FILLERS.contains(word));
        let join = |all: String, word: &&str| all + " " + word;
        let empty = telling().next().is_none();
        Self(if empty { all.iter().fold(String::new(), join) } else { telling().fold(String::new(), join) })
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        self.0.split(' ').skip(1)
    }

    /// A number tells apart what is otherwise the same: step 1 and step 2, v3 and v4.
    fn numbers(&self) -> impl Iterator<Item = &str> {
        self.words().filter(|word| word.contains(char::is_numeric))
    }

    /// All words together: titles that are the same to the word are found however frequent the words are. They begin with a
    /// blank, as no word does.
    fn whole(&self) -> &str {
        &self.0
    }

    /// What titles that may be alike have in common: all numbers together, which begin with a character that no word has,
    /// or one of the words where there are none.
    fn shared(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let numbers = self.numbers().fold(String::new(), |all, number| all + "#" + number);
        let words = self.words().filter(|_| numbers.is_empty()).map(Cow::Borrowed).collect::<Vec<_>>();
        words.into_iter().chain((!numbers.is_empty()).then_some(Cow::Owned(numbers)))
    }

    fn keys(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.shared().chain([Cow::Borrowed(self.whole())])
    }
}

/// The titles of all live beads by their words.
#[derive(Debug, Default)]
pub(crate) struct TitleIndex {
    holders: BTreeMap<String, BTreeSet<Lineage>>,
    gists: BTreeMap<Lineage, Gist>,
}

impl TitleIndex {
    pub(crate) fn set(&mut self, lineage: &Lineage, title: Option<&Title>) {
        let new = title.map(Gist::of);
        if self.gists.get(lineage) == new.as_ref() {
            return;
        }
        if let Some(old) = self.gists.remove(lineage) {
            for key in old.keys() {
                if let Some(holders) = self.holders.get_mut(key.as_ref()) {
                    holders.remove(lineage);
                    if holders.is_empty() {
                        self.holders.remove(key.as_ref());
                    }
                }
            }
        }
        if let Some(new) = new {
            for key in new.keys() {
                self.holders.entry(key.into_owned()).or_default().insert(lineage.clone());
            }
            self.gists.insert(lineage.clone(), new);
        }
    }

    /// Beads with nearly this title.
    pub(crate) fn similar(&self, title: &Title) -> BTreeSet<&Lineage> {
        let gist = Gist::of(title);
        let mut compared = BTreeSet::new();
        let mut found = BTreeSet::new();
        for lineage in self.candidates(&gist).take(MAX_COMPARED) {
            let known = compared.insert(lineage);
            if known && self.gists.get(lineage).is_some_and(|other| alike(&gist, other)) {
                found.insert(lineage);
            }
        }
        found
    }

    fn candidates<'a>(&'a self, gist: &Gist) -> impl Iterator<Item = &'a Lineage> {
        let whole = self.holders.get(gist.whole());
        let mut lists: Vec<_> = gist.shared().filter_map(|key| self.holders.get(key.as_ref())).collect();
        lists.sort_by_key(|list| list.len());
        whole.into_iter().chain(lists).flatten()
    }
}

/// The same without an index, by a look at every title.
pub(crate) fn look_through<'a>(
    title: &Title,
    titles: impl Iterator<Item = (&'a Lineage, &'a Title)>,
) -> BTreeSet<&'a Lineage> {
    let gist = Gist::of(title);
    let likely = titles.filter(|(_, other)| may_be_alike(&gist, other.as_str()));
    likely.filter(|(_, other)| alike(&gist, &Gist::of(other))).map(|(lineage, _)| lineage).collect()
}

/// Shares a word and all numbers, told without taking the title apart.
fn may_be_alike(gist: &Gist, title: &str) -> bool {
    let words = || title.split(|c: char| !c.is_alphanumeric());
    let same = |own: &str, word: &str| {
        own.eq_ignore_ascii_case(word) || !word.is_ascii() && word.to_lowercase() == own
    };
    let has = |own: &str| words().any(|word| same(own, word));
    match gist.numbers().next() {
        None => !title.contains(char::is_numeric) && gist.words().any(has),
        Some(_) => gist.numbers().all(has),
    }
}

/// An index that is made when it is needed for the second time. It follows from the rest of a catalog, so it makes no
/// difference between two of them, and a copy makes its own.
#[derive(Debug, Default)]
pub(crate) struct LazyTitles {
    asked: AtomicBool,
    index: OnceLock<TitleIndex>,
}

impl LazyTitles {
    /// Nothing when it was never asked for before.
    pub(crate) fn get_or_make(&self, make: impl FnOnce() -> TitleIndex) -> Option<&TitleIndex> {
        self.asked.swap(true, Ordering::Relaxed).then(|| self.index.get_or_init(make))
    }

    pub(crate) fn get_mut(&mut self) -> Option<&mut TitleIndex> {
        self.index.get_mut()
    }
}

impl Clone for LazyTitles {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for LazyTitles {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The same numbers, and three quarters of all groups of three letters in common. Words are padded, so that their beginnings
/// count more than their ends.
fn alike(a: &Gist, b: &Gist) -> bool {
    if !a.numbers().eq(b.numbers()) {
        return false;
    }
    let (a, b) = (trigrams(a), trigrams(b));
    let shared = a.iter().filter(|three| b.binary_search(three).is_ok()).count();
    let all = a.len() + b.len() - shared;
    all > 0 && shared * 4 >= all * 3
}

/// Sorted, each once, three letters in one number.
fn trigrams(gist: &Gist) -> Vec<u64> {
    const LETTER_BITS: u32 = 21;
    let mut found = Vec::with_capacity(gist.whole().len() + gist.words().count());
    for word in gist.words() {
        let begun = (u64::from(' ') << LETTER_BITS) | u64::from(' ');
        word.chars().chain([' ']).fold(begun, |before, letter| {
            let three = ((before << LETTER_BITS) | u64::from(letter)) & ((1 << (3 * LETTER_BITS)) - 1);
            found.push(three);
            three
        });
    }
    found.sort_unstable();
    found.dedup();
    found
}
