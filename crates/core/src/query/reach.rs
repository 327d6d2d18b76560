use std::collections::BTreeSet;

/// Returns the start nodes and all nodes that are reachable from them.
pub(crate) fn reach<N: Copy + Ord, I: IntoIterator<Item = N>>(
    start: impl IntoIterator<Item = N>,
    step: impl Fn(N) -> I,
) -> BTreeSet<N> {
    let mut found = BTreeSet::new();
    let mut frontier: Vec<N> = start.into_iter().collect();
    while let Some(node) = frontier.pop() {
        if found.insert(node) {
            frontier.extend(step(node));
        }
    }
    found
}
