//! Decides which requests are answered. The token proves who asks; the exact comparison of `Host` and
//! `Origin` keeps other web pages and rebound names out, even if they guess the port.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use axum::http::{HeaderMap, Method, header};
use beads_core::canonical::hex;
use beads_engine::failure::Failure;
use beads_store::Replacement;
use sha2::{Digest, Sha256};

/// The file with the token, in the directory of the store.
const TOKEN_FILE: &str = "board-token";

/// The number of random bytes in a token.
const TOKEN_BYTES: usize = 24;

/// Stores get one of these ports by default. The range is below the ports that systems hand out.
const PORTS: std::ops::Range<u16> = 21_000..31_000;

/// The secret that every request for data must carry.
#[derive(Clone)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// Reads the token of a store, or makes one. `renew` replaces it, so that earlier addresses stop working.
    pub fn of_store(store_dir: &Path, renew: bool) -> Result<Self, Failure> {
        let path = store_dir.join(TOKEN_FILE);
        let known = std::fs::read_to_string(&path).ok().map(|text| text.trim().to_owned());
        if let Some(token) = known.filter(|token| !renew && is_token(token)) {
            return Ok(Self(token));
        }
        let mut bytes = [0; TOKEN_BYTES];
        beads_store::fill_random(&mut bytes).map_err(Failure::internal)?;
        let token = hex(&bytes);
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(store_dir)?;
            let temporary = store_dir.join(format!(".{TOKEN_FILE}.{}.tmp", std::process::id()));
            let mut file = Replacement::private(&path, temporary)?;
            writeln!(file, "{token}")?;
            file.finish()
        };
        write().map_err(|error| Failure::io("write", &path, &error))?;
        Ok(Self(token))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Compares in constant time: equal digests are equal tokens, and a digest reveals nothing about a prefix.
    fn matches(&self, given: &str) -> bool {
        Sha256::digest(self.0.as_bytes()) == Sha256::digest(given.as_bytes())
    }
}

fn is_token(text: &str) -> bool {
    text.len() == 2 * TOKEN_BYTES && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the port that a store prefers: always the same one, so that bookmarks keep working.
pub fn preferred_port(git_dir: &Path) -> u16 {
    let digest = Sha256::digest(git_dir.as_os_str().as_encoded_bytes());
    let number = u16::from_be_bytes([digest[0], digest[1]]);
    PORTS.start + number % (PORTS.end - PORTS.start)
}

/// Spells a host as browsers do in addresses and in `Host`: names in lower case, and IPv6 addresses short and in
/// brackets.
pub fn spelled(host: &str) -> String {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    match bare.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        Ok(IpAddr::V4(address)) => address.to_string(),
        Err(_) => bare.to_ascii_lowercase(),
    }
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// `Host` is not an address of this server.
    Host,
    /// The request comes from another site.
    Origin,
    /// The token is missing or wrong.
    Token,
}

/// What a request must prove.
#[derive(Debug)]
pub struct Gate {
    token: Token,
    /// The values of `Host` that name this server, with the port.
    hosts: Vec<String>,
}

impl Gate {
    /// Returns the gate of a server at an address. `name` is the host that `--host` gave, as browsers spell it.
    pub fn new(token: Token, address: SocketAddr, name: Option<&str>) -> Self {
        let port = address.port();
        let mut hosts = vec![address.to_string()];
        if address.ip().is_loopback() {
            hosts.extend(["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}")));
        }
        hosts.extend(name.map(|name| format!("{name}:{port}")));
        Self { token, hosts }
    }

    /// Checks where a request comes from and which host it names.
    pub fn check_site(&self, method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = text(headers, header::HOST.as_str()).ok_or(Refusal::Host)?;
        if !self.hosts.iter().any(|known| known == host) {
            return Err(Refusal::Host);
        }
        let is_own = |origin: &str| origin.strip_prefix("http://") == Some(host);
        match text(headers, header::ORIGIN.as_str()) {
            Some(origin) if !is_own(origin) => return Err(Refusal::Origin),
            // A browser sends `Origin` with every request that can change something.
            None if method != Method::GET && headers.contains_key("sec-fetch-site") => {
                return Err(Refusal::Origin);
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks that a request for data was made by the page itself and carries the token.
    pub fn check_token(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        if text(headers, "sec-fetch-site").is_some_and(|site| site != "same-origin") {
            return Err(Refusal::Origin);
        }
        let given = text(headers, header::AUTHORIZATION.as_str());
        match given.and_then(|given| given.strip_prefix("Bearer ")) {
            Some(token) if self.token.matches(token) => Ok(()),
            _ => Err(Refusal::Token),
        }
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("\u{fffd}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate() -> Gate {
        Gate::new(Token("00ff".into()), "127.0.0.1:4000".parse().unwrap(), None)
    }

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn only_exact_hosts_and_origins_pass() {
        let site = |method, pairs: &[_]| gate().check_site(&method, &headers(pairs));
        assert_eq!(site(Method::GET, &[("host", "127.0.0.1:4000")]), Ok(()));
        assert_eq!(site(Method::GET, &[("host", "localhost:4000")]), Ok(()));
        for host in [
            "127.0.0.1",
            "127.0.0.1:4001",
            "evil.example:4000",
            "localhost:4000.evil.example",
            "LOCALHOST:4000",
        ] {
            assert_eq!(site(Method::GET, &[("host", host)]), Err(Refusal::Host), "{host}");
        }
        assert_eq!(site(Method::GET, &[]), Err(Refusal::Host));
        let own = ("host", "127.0.0.1:4000");
        assert_eq!(site(Method::POST, &[own, ("origin", "http://127.0.0.1:4000")]), Ok(()));
        for origin in [
            "http://127.0.0.1",
            "http://127.0.0.1:4001",
            "https://127.0.0.1:4000",
            "null",
            "http://localhost:4000",
        ] {
            assert_eq!(site(Method::POST, &[own, ("origin", origin)]), Err(Refusal::Origin), "{origin}");
        }
        assert_eq!(site(Method::POST, &[own, ("sec-fetch-site", "same-origin")]), Err(Refusal::Origin));
    }

    #[test]
    fn hosts_are_spelled_as_browsers_do() {
        for (given, expected) in [
            ("VM", "vm"),
            ("Build2.Example", "build2.example"),
            ("::1", "[::1]"),
            ("[::1]", "[::1]"),
            ("0:0:0:0:0:0:0:1", "[::1]"),
            ("FE80::A", "[fe80::a]"),
            ("10.0.0.1", "10.0.0.1"),
        ] {
            assert_eq!(spelled(given), expected);
        }
        let gate = Gate::new(Token("00ff".into()), "10.0.0.1:4000".parse().unwrap(), Some(&spelled("VM")));
        assert_eq!(gate.check_site(&Method::GET, &headers(&[("host", "vm:4000")])), Ok(()));
    }

    #[test]
    fn the_token_must_be_whole_and_from_the_page_itself() {
        let token = |pairs: &[_]| gate().check_token(&headers(pairs));
        assert_eq!(token(&[("authorization", "Bearer 00ff")]), Ok(()));
        assert_eq!(token(&[("authorization", "Bearer 00ff"), ("sec-fetch-site", "same-origin")]), Ok(()));
        for wrong in ["Bearer 00f", "Bearer 00fff", "Bearer ", "00ff", "Basic 00ff"] {
            assert_eq!(token(&[("authorization", wrong)]), Err(Refusal::Token), "{wrong}");
        }
        assert_eq!(token(&[]), Err(Refusal::Token));
        let cross = [("authorization", "Bearer 00ff"), ("sec-fetch-site", "cross-site")];
        assert_eq!(gate().check_token(&headers(&cross)), Err(Refusal::Origin));
    }

    #[test]
    fn a_token_is_private_and_stays_until_it_is_replaced() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let first = Token::of_store(directory.path(), false).unwrap();
        assert_eq!(Token::of_store(directory.path(), false).unwrap().as_str(), first.as_str());
        let mode = std::fs::metadata(directory.path().join(TOKEN_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_ne!(Token::of_store(directory.path(), true).unwrap().as_str(), first.as_str());
    }
}
