//! URLs of remotes: which are on this machine, and which parts may be shown.

use std::path::PathBuf;

/// Returns the path of a remote on this machine, or `None` for one that is reached over a network.
pub(crate) fn local_path(url: &str) -> Option<PathBuf> {
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

/// Returns `https://host:port` of a remote over http, without user, password and path.
pub(crate) fn web_host(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://").filter(|(scheme, _)| matches!(*scheme, "http" | "https"))?;
    let authority = rest.split('/').next()?;
    let host = authority.rsplit('@').next()?;
    Some(format!("{scheme}://{host}"))
}

/// Returns the text without user names and passwords in URLs.
pub(crate) fn redact(text: &str) -> String {
    text.split(' ').map(redact_word).collect::<Vec<_>>().join(" ")
}

/// Hides the user and password before the host, and everything after a `?`. A password may contain any
/// character, even a slash, so this hides too much rather than too little.
fn redact_word(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else { return word.to_owned() };
    let quote = rest.rfind(['\'', '"']).unwrap_or(rest.len());
    let (rest, tail) = rest.split_at(quote);
    let (rest, query) = rest.split_once('?').map_or((rest, ""), |(rest, _)| (rest, "?***"));
    let authority = &rest[..rest.find('/').unwrap_or(rest.len())];
    let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let has_user =
        authority.contains('@') || authority.split_once(':').is_some_and(|(_, port)| !is_port(port));
    match rest.rfind('@').filter(|_| has_user) {
        Some(at) => format!("{scheme}://***@{}{query}{tail}", &rest[at + 1..]),
        None => format!("{scheme}://{rest}{query}{tail}"),
    }
}

/// Returns whether a server may have the credentials of a remote: it must be the remote's own host and port,
/// or the same host over https. A redirect must not carry credentials elsewhere.
pub(crate) fn is_own_host(remote: &str, asking: &str) -> bool {
    let parts = |url: &str| -> Option<(String, String, u16)> {
        let host = web_host(url)?;
        let (scheme, host) = host.split_once("://")?;
        let usual = if scheme == "https" { 443 } else { 80 };
        let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let (host, port) = match host.rsplit_once(':') {
            Some((host, port)) if is_port(port) => (host, port.parse().ok()?),
            _ => (host, usual),
        };
        Some((scheme.to_owned(), host.to_ascii_lowercase(), port))
    };
    let (Some((scheme, host, port)), Some((new_scheme, new_host, new_port))) = (parts(remote), parts(asking))
    else {
        return false;
    };
    let upgraded = (scheme.as_str(), new_scheme.as_str(), port, new_port) == ("http", "https", 80, 443);
    host == new_host && ((scheme == new_scheme && port == new_port) || upgraded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_on_this_machine_are_recognized() {
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
    fn the_host_of_a_url_is_found() {
        assert_eq!(web_host("https://me:secret@host:8443/x.git").unwrap(), "https://host:8443");
        assert_eq!(web_host("http://host").unwrap(), "http://host");
        assert_eq!(web_host("ssh://git@host/x.git"), None);
        assert_eq!(web_host("/srv/x.git"), None);
    }

    #[test]
    fn credentials_are_hidden() {
        assert_eq!(
            redact("fatal: 'https://me:secret@host/x' not found"),
            "fatal: 'https://***@host/x' not found"
        );
        assert_eq!(redact("https://host/a@b"), "https://host/a@b");
        assert_eq!(redact("https://host:8443/a@b"), "https://host:8443/a@b");
        assert_eq!(redact("at https://me:se/cr@et@host/x now"), "at https://***@host/x now");
        assert_eq!(redact("'https://host/x?token=secret': 403"), "'https://host/x?***': 403");
    }

    #[test]
    fn credentials_are_only_for_the_remotes_own_host() {
        let own = |asking| is_own_host("https://me@Host/x.git", asking);
        assert!(own("https://host/x.git/info/refs") && own("https://host:443/y"));
        assert!(!own("https://other/x.git") && !own("https://host:8443/x.git") && !own("http://host/x.git"));
        assert!(!own("https://host.other/x.git") && !own("https://host@other/x.git"));
        assert!(is_own_host("http://host/x.git", "https://host/x.git"));
        assert!(!is_own_host("ssh://host/x.git", "https://host/x.git"));
    }
}
