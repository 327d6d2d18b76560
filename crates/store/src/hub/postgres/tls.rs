//! TLS to a PostgreSQL hub, with the modes of libpq.

use openssl::ssl::{SslConnector, SslMethod, SslVerifyMode};
use postgres_openssl::MakeTlsConnector;

use super::address::Address;
use crate::{Error, Result};

/// The `sslmode` of libpq.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SslMode {
    /// No TLS.
    Disable,
    /// TLS if the server offers it; certificates are not checked.
    Prefer,
    /// TLS; certificates are checked only if there is a root certificate.
    Require,
    /// TLS with a certificate of a known authority.
    VerifyCa,
    /// TLS with a certificate of a known authority for this host.
    VerifyFull,
}

impl SslMode {
    /// Parses the name that libpq uses.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "disable" => Self::Disable,
            "allow" | "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => return None,
        })
    }

    /// Returns the mode of the wire protocol.
    pub(super) fn wire(self) -> tokio_postgres::config::SslMode {
        match self {
            Self::Disable => tokio_postgres::config::SslMode::Disable,
            Self::Prefer => tokio_postgres::config::SslMode::Prefer,
            _ => tokio_postgres::config::SslMode::Require,
        }
    }
}

/// Returns the connector for an address.
pub(super) fn connector(address: &Address) -> Result<MakeTlsConnector> {
    let failed = |error: openssl::error::ErrorStack| Error::HubAddress(format!("TLS: {error}"));
    let mut builder = SslConnector::builder(SslMethod::tls()).map_err(failed)?;
    let has_root = address.root_certificate.is_some();
    let verifies = match address.ssl_mode {
        SslMode::Disable | SslMode::Prefer => false,
        SslMode::Require => has_root,
        SslMode::VerifyCa | SslMode::VerifyFull => true,
    };
    builder.set_verify(if verifies { SslVerifyMode::PEER } else { SslVerifyMode::NONE });
    match address.root_certificate.as_ref().filter(|_| verifies) {
        Some(path) if path.as_os_str() != "system" => builder.set_ca_file(path).map_err(failed)?,
        _ => {
            // The built-in OpenSSL does not know where this system keeps its certificates.
            if let Some(file) = openssl_probe::probe().cert_file.filter(|_| verifies) {
                builder.set_ca_file(file).map_err(failed)?;
            }
        }
    }
    let mut connector = MakeTlsConnector::new(builder.build());
    let checks_host = address.ssl_mode == SslMode::VerifyFull;
    connector.set_callback(move |configuration, _| {
        configuration.set_verify_hostname(checks_host);
        Ok(())
    });
    Ok(connector)
}
