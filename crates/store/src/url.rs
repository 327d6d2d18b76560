//! Addresses of remotes: which are on this machine, and what may be shown of them.

use std::path::PathBuf;

/// The path of a remote on this machine; `None` for one that is reached over a wire.
pub fn local_path(url: &str) -> Option<PathBuf> {
    if let Some(path) = url.strip_prefix("file://") {
        return Some(PathBuf::from(path.strip_prefix("localhost").unwrap_or(path)));
    }
    if url.contains("://") {
        return None;
    }
    // `host:path` is ssh, unless a slash comes first.
    match (url.find(':'), url.find('/')) {
        (Some(colon), Some(slash)) if colon < slash => None,
        (Some(_), None) => None,
        _ => Some(PathBuf::from(url)),
    }
}

/// `https://host:port` of a remote that is reached over http, without user, password and path.
pub fn web_host(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://").filter(|(scheme, _)| matches!(*scheme, "http" | "https"))?;
    let authority = rest.split('/').next()?;
    let host = authority.rsplit('@').next()?;
    Some(format!("{scheme}://{host}"))
}

/// The text without user names and passwords in addresses.
pub fn redact(text: &str) -> String {
    text.split(' ').map(redact_word).collect::<Vec<_>>().join(" ")
}

fn redact_word(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else { return word.to_owned() };
    let end = rest.find(['/', '\'', '"']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://***@{}", &rest[at + 1..]),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_what_is_on_this_machine() {
        assert_eq!(local_path("/srv/x.git"), Some("/srv/x.git".into()));
        assert_eq!(local_path("../x.git"), Some("../x.git".into()));
        assert_eq!(local_path("file:///srv/x.git"), Some("/srv/x.git".into()));
        assert_eq!(local_path("git@host:x.git"), None);
        assert_eq!(local_path("host:x"), None);
        assert_eq!(local_path("ssh://host/x.git"), None);
        assert_eq!(local_path("https://host/x.git"), None);
        assert_eq!(local_path("./odd:name"), Some("./odd:name".into()));
    }

    #[test]
    fn knows_who_a_password_is_for() {
        assert_eq!(web_host("https://me:secret@host:8443/x.git").unwrap(), "https://host:8443");
        assert_eq!(web_host("http://host").unwrap(), "http://host");
        assert_eq!(web_host("ssh://git@host/x.git"), None);
        assert_eq!(web_host("/srv/x.git"), None);
    }

    #[test]
    fn no_credential_is_shown() {
        assert_eq!(
            redact("fatal: 'https://me:secret@host/x' not found"),
            "fatal: 'https://***@host/x' not found"
        );
        assert_eq!(redact("https://host/a@b"), "https://host/a@b");
    }
}
