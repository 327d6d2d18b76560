use crate::sandbox::{Mode, Sandbox};

#[test]
fn every_verb_gets_a_page() {
    let bd = Sandbox::new(Mode::Embedded);
    let text = bd.text(&["man", "--dir", "pages/man1"]);
    let directory = bd.dir().join("pages/man1");
    assert!(text.contains(directory.to_str().unwrap()), "{text}");
    for page in ["bd.1", "bd-create.1", "bd-dep-add.1", "bd-man.1"] {
        let content =
            std::fs::read_to_string(directory.join(page)).unwrap_or_else(|error| panic!("{page}: {error}"));
        assert!(content.contains(".SH SYNOPSIS"), "{page}");
    }
    assert!(!directory.join("bd-complete.1").exists(), "hidden verbs have no page");
    std::fs::write(bd.dir().join("file"), "").unwrap();
    bd.error(&["man", "--dir", "file"], "io_error");
}
