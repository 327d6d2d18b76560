//! The address of a PostgreSQL hub, with the defaults that libpq has.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::tls::SslMode;
use crate::{Error, Result};

/// How long connecting to one host may take, so that one that does not answer leaves time for the next.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long connecting and logging in may take for each host.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(10);

/// Where a hub is and how to log in.
#[derive(Clone)]
pub struct Address {
    pub(super) config: Config,
    pub(super) ssl_mode: SslMode,
    pub(super) root_certificate: Option<PathBuf>,
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown())
    }
}

/// The parameters of libpq that tokio-postgres does not know.
const OWN_PARAMETERS: [&str; 4] = ["sslmode", "sslrootcert", "service", "passfile"];

impl Address {
    /// Parses `postgres://user@host/database` and adds what the environment, the service file and the
    /// password file have.
    pub fn parse(url: &str) -> Result<Self> {
        Self::parse_with(url, |name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn parse_with(url: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let bad = |reason: &str| Error::HubAddress(reason.to_owned());
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(bad("it does not begin with postgres://"));
        }
        let (own, rest) = take_parameters(url);
        let service = own.get("service").cloned().or_else(|| variable("PGSERVICE"));
        let service = match service {
            Some(name) => read_service(&name, &variable)?,
            None => BTreeMap::new(),
        };
        let setting = |parameter: &str, name: &str| {
            own.get(parameter).cloned().or_else(|| service.get(parameter).cloned()).or_else(|| variable(name))
        };
        let rest = with_port(rest, setting("port", "PGPORT"));
        let mut config: Config = rest.parse().map_err(|error| bad(&complaint(&error)))?;
        fill_in(&mut config, &setting)?;
        if config.get_password().is_none()
            && let Some(password) = setting("password", "PGPASSWORD")
                .or_else(|| password_from_file(&config, setting("passfile", "PGPASSFILE"), &variable))
        {
            config.password(password);
        }
        config.connect_timeout(CONNECT_TIMEOUT);
        config.application_name("bd");
        let ssl_mode = setting("sslmode", "PGSSLMODE").unwrap_or_else(|| "prefer".to_owned());
        let ssl_mode = SslMode::parse(&ssl_mode).ok_or_else(|| bad("sslmode is unknown"))?;
        let root = setting("sslrootcert", "PGSSLROOTCERT").map(PathBuf::from);
        let home = variable("HOME").map(|home| Path::new(&home).join(".postgresql/root.crt"));
        let root_certificate = root.or_else(|| home.filter(|path| path.is_file()));
        Ok(Self { config, ssl_mode, root_certificate })
    }

    /// Fails if a URL contains a password, which would be stored, or visible in the list of processes.
    pub fn refuse_password(url: &str) -> Result<()> {
        let bad = "it must not contain a password; put that into ~/.pgpass or PGPASSWORD, and write an @ in a name as %40. Nothing \
             was changed";
        if has_password(url) { Err(Error::HubAddress(bad.to_owned())) } else { Ok(()) }
    }

    /// Returns how long connecting may take. Several hosts are tried one after the other.
    pub(super) fn patience(&self) -> Duration {
        let hosts = self.config.get_hosts().len().max(1);
        LOGIN_TIMEOUT * u32::try_from(hosts).unwrap_or(1)
    }

    /// Returns the address without the password.
    pub fn shown(&self) -> String {
        let user = self.config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
        let ports = self.config.get_ports();
        let at = |(index, host): (usize, &Host)| {
            let port = ports.get(index).or(ports.first()).copied().unwrap_or(5432);
            match host {
                Host::Tcp(host) => format!("{host}:{port}"),
                Host::Unix(path) => format!("{}:{port}", path.display()),
            }
        };
        let hosts: Vec<String> = self.config.get_hosts().iter().enumerate().map(at).collect();
        let name = self.config.get_dbname().or(self.config.get_user()).unwrap_or_default();
        format!("postgres://{user}{}/{name}", hosts.join(","))
    }
}

fn has_password(url: &str) -> bool {
    let (_, rest) = take_parameters(url);
    match rest.parse::<Config>() {
        Ok(config) => config.get_password().is_some(),
        // No address, but it may have been meant as one.
        Err(_) => {
            let login = rest.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@'));
            login.is_some_and(|(login, _)| login.contains(':')) || rest.contains("password=")
        }
    }
}

/// Says what is wrong with a URL, without repeating it: it may contain a password.
fn complaint(error: &tokio_postgres::Error) -> String {
    use std::error::Error as _;
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    let name = cause.split('`').nth(1).unwrap_or_default();
    if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') {
        return cause;
    }
    "it is not a PostgreSQL URL".to_owned()
}

/// Sets what the URL leaves out.
fn fill_in(config: &mut Config, setting: &impl Fn(&str, &str) -> Option<String>) -> Result<()> {
    if config.get_hosts().is_empty() {
        config.host(setting("host", "PGHOST").unwrap_or_else(|| "localhost".to_owned()));
    }
    if config.get_ports().is_empty()
        && let Some(port) = setting("port", "PGPORT")
    {
        config.port(port.parse().map_err(|_| Error::HubAddress("the port is not a number".to_owned()))?);
    }
    if config.get_user().is_none() {
        let user = setting("user", "PGUSER").or_else(|| setting("user", "USER"));
        config.user(user.unwrap_or_else(|| "postgres".to_owned()));
    }
    if config.get_dbname().is_none()
        && let Some(name) = setting("dbname", "PGDATABASE")
    {
        config.dbname(name);
    }
    Ok(())
}

/// Adds a port to a URL that names a host without one. Parsing such a URL would set the default port.
fn with_port(url: String, port: Option<String>) -> String {
    let begin = url.find("://").map_or(0, |at| at + 3);
    let end = url[begin..].find(['/', '?']).map_or(url.len(), |at| begin + at);
    let host = url[begin..end].rsplit('@').next().unwrap_or_default();
    let has_port = host.rsplit(']').next().is_some_and(|rest| rest.contains(':'));
    match port {
        Some(port) if !host.is_empty() && !has_port && !host.contains(',') => {
            format!("{}:{port}{}", &url[..end], &url[end..])
        }
        _ => url,
    }
}

/// Separates our parameters from the URL.
fn take_parameters(url: &str) -> (BTreeMap<String, String>, String) {
    let Some((base, query)) = url.split_once('?') else { return (BTreeMap::new(), url.to_owned()) };
    let (mut own, mut kept) = (BTreeMap::new(), Vec::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some((key, value)) if OWN_PARAMETERS.contains(&key) => {
                own.insert(key.to_owned(), percent_decoded(value));
            }
            _ => kept.push(pair),
        }
    }
    let rest = if kept.is_empty() { base.to_owned() } else { format!("{base}?{}", kept.join("&")) };
    (own, rest)
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = tail.get(..2).filter(|_| *first == b'%');
        let escaped =
            escaped.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads one section of `~/.pg_service.conf`.
fn read_service(name: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<BTreeMap<String, String>> {
    let path = variable("PGSERVICEFILE")
        .map(PathBuf::from)
        .or_else(|| variable("HOME").map(|home| Path::new(&home).join(".pg_service.conf")));
    let text = path.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
    let mut found = None;
    let mut current = "";
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        if let Some(section) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            current = section;
            if current == name {
                found.get_or_insert_with(BTreeMap::new);
            }
        } else if let (Some(values), Some((key, value)), true) =
            (found.as_mut(), line.split_once('='), current == name)
        {
            values.insert(key.trim().to_owned(), value.trim().to_owned());
        }
    }
    found.ok_or_else(|| Error::HubAddress(format!("there is no service {name:?} in the service file")))
}

/// Looks up the password in `~/.pgpass`, which only its owner may read.
fn password_from_file(
    config: &Config,
    path: Option<String>,
    variable: &impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let home = || variable("HOME").map(|home| Path::new(&home).join(".pgpass"));
    let path = path.map(PathBuf::from).or_else(home)?;
    let mode = std::fs::metadata(&path).ok()?.permissions().mode();
    if mode & 0o077 != 0 {
        return None;
    }
    let host = match config.get_hosts().first()? {
        Host::Tcp(host) => host.clone(),
        Host::Unix(_) => "localhost".to_owned(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
    let user = config.get_user()?.to_owned();
    let name = config.get_dbname().unwrap_or(&user).to_owned();
    let text = std::fs::read_to_string(&path).ok()?;
    text.lines().find_map(|line| {
        let fields = split_password_line(line);
        let [its_host, its_port, its_name, its_user, password] = fields.as_slice() else { return None };
        let fits = |pattern: &String, value: &str| pattern == "*" || pattern == value;
        let all = fits(its_host, &host) && fits(its_port, &port) && fits(its_name, &name);
        (all && fits(its_user, &user)).then(|| password.clone())
    })
}

/// Splits a line at colons that no backslash precedes.
fn split_password_line(line: &str) -> Vec<String> {
    let (mut fields, mut escaped) = (vec![String::new()], false);
    for character in line.chars() {
        match character {
            '\\' if !escaped => escaped = true,
            ':' if !escaped => fields.push(String::new()),
            other => {
                escaped = false;
                if let Some(field) = fields.last_mut() {
                    field.push(other);
                }
            }
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str, variables: &[(&str, &str)]) -> Address {
        let found = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Address::parse_with(url, found).unwrap()
    }

    #[test]
    fn the_password_is_never_shown() {
        let address = parse("postgres://ann:secret@db.example/app?sslmode=verify-full", &[]);
        assert_eq!(address.shown(), "postgres://ann@db.example:5432/app");
        assert_eq!(address.ssl_mode, SslMode::VerifyFull);
        assert!(!format!("{address:?}").contains("secret"));
    }

    #[test]
    fn an_address_with_a_password_is_noticed_however_it_is_written() {
        for url in [
            "postgres://ann:secret@db.example/app",
            "postgres://ann:secret@db.example/app?sslmode=verify-full",
            "postgres://ann:sec/ret@db.example/app",
            "postgres://ann:sec?ret@db.example/app?sslmode=verify-full",
            "postgres://ann:sec@ret@db.example/app",
            "postgres://ann:@db.example/app",
            "postgres://db.example/app?password=secret",
            "postgres://db.example/app?sslmode=require&p%61ssword=secret",
            "postgres://db.example/app?unknown=1&password=secret",
            "mysql://ann:secret@db.example/app",
        ] {
            let error = Address::refuse_password(url).expect_err(url).to_string();
            assert!(!error.contains("sec"), "{error}");
            let shown =
                Address::parse_with(url, |_| None).map_or_else(|error| error.to_string(), |one| one.shown());
            assert!(!shown.contains("sec"), "{shown}");
        }
        for url in [
            "postgres://ann@db.example:5432/app",
            "postgres://ann@[::1]:5432/app?sslmode=verify-full&sslrootcert=/a:b@c",
            "postgres:///app?host=/run/postgresql&user=ann",
            "postgres://ann@one:1,two:2/app?target_session_attrs=read-write",
        ] {
            assert!(Address::refuse_password(url).is_ok(), "{url}");
        }
    }

    #[test]
    fn a_parameter_that_is_not_supported_is_named() {
        let error = Address::parse_with("postgres://db.example/app?sslcert=/key", |_| None).unwrap_err();
        assert!(error.to_string().contains("unknown option `sslcert`"), "{error}");
    }

    #[test]
    fn each_of_several_hosts_has_time_to_answer() {
        let one = parse("postgres://ann@db.example/app", &[]);
        let three = parse("postgres://ann@one:1,two:2,three:3/app", &[]);
        assert_eq!(three.patience(), one.patience() * 3);
        assert_eq!(three.shown(), "postgres://ann@one:1,two:2,three:3/app");
        let connect = *one.config.get_connect_timeout().unwrap();
        assert!(connect < one.patience(), "a host that does not answer leaves time for the next");
    }

    #[test]
    fn the_environment_completes_the_url() {
        let address =
            parse("postgres://db.example", &[("PGUSER", "bob"), ("PGPASSWORD", "p"), ("PGPORT", "6000")]);
        assert_eq!(address.shown(), "postgres://bob@db.example:6000/bob");
        assert_eq!(address.config.get_password(), Some("p".as_bytes()));
        for (url, port) in [
            ("postgres://ann:x@[::1]/app", 6000),
            ("postgres://ann@[::1]:7000/app", 7000),
            ("postgres://db.example:7000", 7000),
        ] {
            assert_eq!(parse(url, &[("PGPORT", "6000")]).config.get_ports(), [port], "{url}");
        }
    }

    #[test]
    fn the_service_and_the_password_file_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let (services, passwords) = (directory.path().join("services"), directory.path().join("passwords"));
        std::fs::write(&services, "[other]\nhost=x\n[team]\nhost=db.example\nuser=ann\ndbname=app\n")
            .unwrap();
        std::fs::write(&passwords, "x:*:*:*:wrong\ndb.example:5432:app:ann:a\\:b\n").unwrap();
        let variables =
            [("PGSERVICEFILE", services.to_str().unwrap()), ("PGPASSFILE", passwords.to_str().unwrap())];
        std::fs::set_permissions(&passwords, std::fs::Permissions::from_mode(0o644)).unwrap();
        let open = parse("postgres:///?service=team", &variables);
        assert_eq!(open.config.get_password(), None, "a file that others can read is not used");
        std::fs::set_permissions(&passwords, std::fs::Permissions::from_mode(0o600)).unwrap();
        let address = parse("postgres:///?service=team", &variables);
        assert_eq!(address.shown(), "postgres://ann@db.example:5432/app");
        assert_eq!(address.config.get_password(), Some("a:b".as_bytes()));
    }
}
