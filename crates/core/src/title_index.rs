//! Finds similar titles with an index of the words in titles.
//!
//! A title is compared only with titles that have the same numbers or, if it has no numbers, share a word
//! with it. Rare words come first, and the number of comparisons is limited, so a create takes as long with
//! ten thousand beads as with ten. Most processes search once or never, and scanning all titles once is much
//! cheaper than building an index. So the index is built on the second search and updated from then on.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Lineage, Title};

/// The maximum number of titles that one title is compared with. Titles with exactly the same words come
/// first, then those that share rare words. The titles that are left out share only frequent words.
const MAX_COMPARED: usize = 100;

/// The number of words of a title that count.
const MAX_WORDS: usize = 40;

/// Words that carry no meaning in a title.
const STOP_WORDS: [&str; 16] =
    ["a", "an", "and", "at", "by", "for", "from", "in", "into", "is", "of", "on", "or", "the", "to", "with"];

/// The words of a title in lower case, sorted, without stop words, each after a space. One string takes no
/// more memory than the title itself.
#[derive(Debug, PartialEq, Eq)]
struct Keywords(String);

impl Keywords {
    fn of(title: &str) -> Self {
        let lower = title.to_lowercase();
        let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let all: BTreeSet<&str> = words.take(MAX_WORDS).collect();
        let significant = || all.iter().filter(|word| !STOP_WORDS.contains(word));
        let join = |all: String, word: &&str| all + " " + word;
        let empty = significant().next().is_none();
        Self(if empty {
            all.iter().fold(String::new(), join)
        } else {
            significant().fold(String::new(), join)
        })
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        self.0.split(' ').skip(1)
    }

    /// Returns the words with digits. Numbers distinguish titles that are otherwise the same: step 1 and step
    /// 2, v3 and v4.
    fn numbers(&self) -> impl Iterator<Item = &str> {
        self.words().filter(|word| word.contains(char::is_numeric))
    }

    /// Returns all words as one key, so that titles with the same words are found even if the words are
    /// frequent. The key starts with a space, which no word does.
    fn whole(&self) -> &str {
        &self.0
    }

    /// Returns the keys that similar titles may share: all numbers as one key, which starts with a character
    /// that no word contains, or each word if there are no numbers.
    fn shared(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let numbers = self.numbers().fold(String::new(), |all, number| all + "#" + number);
        let words = self.words().filter(|_| numbers.is_empty()).map(Cow::Borrowed).collect::<Vec<_>>();
        words.into_iter().chain((!numbers.is_empty()).then_some(Cow::Owned(numbers)))
    }

    fn keys(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.shared().chain([Cow::Borrowed(self.whole())])
    }
}

/// The titles of all live beads, indexed by their words.
#[derive(Debug, Default)]
pub(crate) struct TitleIndex {
    holders: BTreeMap<String, BTreeSet<Lineage>>,
    titles: BTreeMap<Lineage, Keywords>,
}

impl TitleIndex {
    pub(crate) fn set(&mut self, lineage: &Lineage, title: Option<&str>) {
        let new = title.map(Keywords::of);
        if self.titles.get(lineage) == new.as_ref() {
            return;
        }
        if let Some(old) = self.titles.remove(lineage) {
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
            self.titles.insert(lineage.clone(), new);
        }
    }

    /// Returns the beads with a similar title.
    pub(crate) fn similar(&self, title: &Title) -> BTreeSet<&Lineage> {
        let keywords = Keywords::of(title.as_str());
        let mut compared = BTreeSet::new();
        let mut found = BTreeSet::new();
        for lineage in self.candidates(&keywords).take(MAX_COMPARED) {
            let is_new = compared.insert(lineage);
            if is_new && self.titles.get(lineage).is_some_and(|other| are_similar(&keywords, other)) {
                found.insert(lineage);
            }
        }
        found
    }

    fn candidates<'a>(&'a self, keywords: &Keywords) -> impl Iterator<Item = &'a Lineage> {
        let whole = self.holders.get(keywords.whole());
        let mut lists: Vec<_> = keywords.shared().filter_map(|key| self.holders.get(key.as_ref())).collect();
        lists.sort_by_key(|list| list.len());
        whole.into_iter().chain(lists).flatten()
    }
}

/// Finds similar titles without an index, by scanning all titles.
pub(crate) fn scan_titles<'a>(
    title: &Title,
    titles: impl Iterator<Item = (&'a Lineage, Cow<'a, str>)>,
) -> BTreeSet<&'a Lineage> {
    let keywords = Keywords::of(title.as_str());
    let likely = titles.filter(|(_, other)| may_be_similar(&keywords, other));
    likely
        .filter(|(_, other)| are_similar(&keywords, &Keywords::of(other)))
        .map(|(lineage, _)| lineage)
        .collect()
}

/// Returns whether the title shares a word and all numbers. This is a cheap test that does not allocate for
/// ASCII titles.
fn may_be_similar(keywords: &Keywords, title: &str) -> bool {
    let words = || title.split(|c: char| !c.is_alphanumeric());
    let same = |own: &str, word: &str| {
        own.eq_ignore_ascii_case(word) || !word.is_ascii() && word.to_lowercase() == own
    };
    let has = |own: &str| words().any(|word| same(own, word));
    match keywords.numbers().next() {
        None => !title.contains(char::is_numeric) && keywords.words().any(has),
        Some(_) => keywords.numbers().all(has),
    }
}

/// An index that is built on the second search. It is derived from the rest of the catalog, so it is ignored
/// in comparisons, and a clone builds its own.
#[derive(Debug, Default)]
pub(crate) struct LazyTitles {
    requested: AtomicBool,
    index: OnceLock<TitleIndex>,
}

impl LazyTitles {
    /// Returns the index, or `None` on the first call.
    pub(crate) fn get_or_build(&self, build: impl FnOnce() -> TitleIndex) -> Option<&TitleIndex> {
        self.requested.swap(true, Ordering::Relaxed).then(|| self.index.get_or_init(build))
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

/// Returns whether two titles have the same numbers and share three quarters of their trigrams. Words are
/// padded, so that their beginnings count more than their ends.
fn are_similar(a: &Keywords, b: &Keywords) -> bool {
    if !a.numbers().eq(b.numbers()) {
        return false;
    }
    let (a, b) = (trigrams(a), trigrams(b));
    let shared = a.iter().filter(|three| b.binary_search(three).is_ok()).count();
    let all = a.len() + b.len() - shared;
    all > 0 && shared * 4 >= all * 3
}

/// Returns the trigrams, sorted and without duplicates. Each is packed into one number.
fn trigrams(keywords: &Keywords) -> Vec<u64> {
    const LETTER_BITS: u32 = 21;
    let mut found = Vec::with_capacity(keywords.whole().len() + keywords.words().count());
    for word in keywords.words() {
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
