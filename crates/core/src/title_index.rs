//! Which titles are nearly the same: an index of the words in titles.
//!
//! A title is compared only with those that share a word with it, rarest words first, and with at most so many of them: so a
//! create costs the same among ten thousand beads as among ten. Most processes ask once or never, and looking at every title
//! once costs a fraction of making an index: so the index is made when somebody asks again, and kept up from then on.

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

/// The words of a title in lower case, without their order and without fillers.
type Gist = BTreeSet<String>;

/// The titles of all live beads by their words.
#[derive(Debug, Default)]
pub(crate) struct TitleIndex {
    holders: BTreeMap<String, BTreeSet<Lineage>>,
    titles: BTreeMap<Lineage, Title>,
}

impl TitleIndex {
    pub(crate) fn set(&mut self, lineage: &Lineage, title: Option<&Title>) {
        if self.titles.get(lineage) == title {
            return;
        }
        if let Some(old) = self.titles.remove(lineage) {
            for key in keys(&gist(&old)) {
                if let Some(holders) = self.holders.get_mut(&key) {
                    holders.remove(lineage);
                    if holders.is_empty() {
                        self.holders.remove(&key);
                    }
                }
            }
        }
        if let Some(new) = title {
            for key in keys(&gist(new)) {
                self.holders.entry(key).or_default().insert(lineage.clone());
            }
            self.titles.insert(lineage.clone(), new.clone());
        }
    }

    /// Beads with nearly this title.
    pub(crate) fn similar(&self, title: &Title) -> BTreeSet<&Lineage> {
        let gist = gist(title);
        let mut compared = BTreeSet::new();
        let mut found = BTreeSet::new();
        for lineage in self.candidates(&gist).take(MAX_COMPARED) {
            let known = compared.insert(lineage);
            if known && self.titles.get(lineage).is_some_and(|other| alike(&gist, &self::gist(other))) {
                found.insert(lineage);
            }
        }
        found
    }

    fn candidates<'a>(&'a self, gist: &Gist) -> impl Iterator<Item = &'a Lineage> {
        let whole = self.holders.get(&whole(gist));
        let by_word = |word: &String| self.holders.get(word);
        let mut lists: Vec<_> = match numbers(gist).next() {
            None => gist.iter().filter_map(by_word).collect(),
            // Whoever has not all of the numbers is another title, so the holders of the rarest are enough.
            Some(_) => {
                let lists: Option<Vec<_>> = numbers(gist).map(by_word).collect();
                lists.into_iter().flatten().min_by_key(|list| list.len()).into_iter().collect()
            }
        };
        lists.sort_by_key(|list| list.len());
        whole.into_iter().chain(lists).flatten()
    }
}

/// The same without an index, by a look at every title.
pub(crate) fn look_through<'a>(
    title: &Title,
    titles: impl Iterator<Item = (&'a Lineage, &'a Title)>,
) -> BTreeSet<&'a Lineage> {
    let gist = gist(title);
    let likely = titles.filter(|(_, other)| may_be_alike(&gist, other.as_str()));
    likely.filter(|(_, other)| alike(&gist, &self::gist(other))).map(|(lineage, _)| lineage).collect()
}

/// Shares a word and all numbers, told without taking the title apart.
fn may_be_alike(gist: &Gist, title: &str) -> bool {
    let words = || title.split(|c: char| !c.is_alphanumeric());
    let same = |own: &String, word: &str| {
        own.eq_ignore_ascii_case(word) || !word.is_ascii() && word.to_lowercase() == *own
    };
    let has = |own: &String| words().any(|word| same(own, word));
    match numbers(gist).next() {
        None => !title.contains(char::is_numeric) && gist.iter().any(has),
        Some(_) => numbers(gist).all(has),
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

fn gist(title: &Title) -> Gist {
    let lower = title.as_str().to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let all: Gist = words.take(MAX_WORDS).map(str::to_owned).collect();
    let telling: Gist = all.iter().filter(|word| !FILLERS.contains(&word.as_str())).cloned().collect();
    if telling.is_empty() { all } else { telling }
}

/// Every word, and all of them together: titles that are the same to the word are found however frequent the words are.
fn keys(gist: &Gist) -> impl Iterator<Item = String> {
    gist.iter().cloned().chain([whole(gist)])
}

/// Begins with a blank, as no word does.
fn whole(gist: &Gist) -> String {
    gist.iter().fold(String::new(), |all, word| all + " " + word)
}

/// A number tells apart what is otherwise the same: step 1 and step 2, v3 and v4.
fn numbers(gist: &Gist) -> impl Iterator<Item = &String> {
    gist.iter().filter(|word| word.contains(char::is_numeric))
}

/// The same numbers, and three quarters of all groups of three letters in common. Words are padded, so that their beginnings
/// count more than their ends.
fn alike(a: &Gist, b: &Gist) -> bool {
    if !numbers(a).eq(numbers(b)) {
        return false;
    }
    let (a, b) = (trigrams(a), trigrams(b));
    let shared = a.intersection(&b).count();
    let all = a.len() + b.len() - shared;
    all > 0 && shared * 4 >= all * 3
}

fn trigrams(gist: &Gist) -> BTreeSet<[char; 3]> {
    let mut found = BTreeSet::new();
    for word in gist {
        let padded: Vec<char> = [' ', ' '].into_iter().chain(word.chars()).chain([' ']).collect();
        found.extend(padded.windows(3).map(|three| [three[0], three[1], three[2]]));
    }
    found
}
