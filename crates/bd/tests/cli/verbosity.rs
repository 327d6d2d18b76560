//! `--verbose` and `--quiet`.

use crate::sandbox::both;

#[test]
fn verbose_says_where_the_answer_came_from_and_quiet_prints_nothing() {
    both(|bd| {
        let run = bd.run(&["create", "x", "-v"]);
        assert!(run.stderr.contains("position 1, "), "{run:?}");
        let run = bd.run(&["create", "y", "-q"]);
        assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
    });
}
