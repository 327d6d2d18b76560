//! The setup of libgit2, and its TLS certificates, which are loaded only when needed.

use std::sync::Once;

use beads_core::limits::MAX_FILE_BYTES;

/// How long a server may be silent before libgit2 gives up. Longer than any likely deadline, because it only
/// ends threads that were given up already.
const SERVER_SILENCE: std::time::Duration = std::time::Duration::from_secs(300);

/// The environment variable with the certificate file for OpenSSL.
const CERTIFICATES: &str = "SSL_CERT_FILE";

/// Starts libgit2 with options for the whole process: by default it does not sync the files it writes, and
/// waits for servers forever.
pub(crate) fn set_up() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // libgit2 must be started before its options can be set.
        start_without_certificates();
        let silence = std::ffi::c_int::try_from(SERVER_SILENCE.as_millis()).unwrap_or(std::ffi::c_int::MAX);
        for (option, value) in [
            (libgit2_sys::GIT_OPT_ENABLE_FSYNC_GITDIR, 1),
            (libgit2_sys::GIT_OPT_SET_SERVER_CONNECT_TIMEOUT, silence),
            (libgit2_sys::GIT_OPT_SET_SERVER_TIMEOUT, silence),
        ] {
            // SAFETY: each of these options takes exactly one int. It writes a global of libgit2 without a
            // lock. That is sound because `Once` runs this once, before this crate opens any repository.
            #[allow(unsafe_code)]
            let result = unsafe { libgit2_sys::git_libgit2_opts(option as std::ffi::c_int, value) };
            assert_eq!(result, 0, "libgit2 has had these options since 1.7");
        }
        // A delta of a few bytes can describe an object of any size, and libgit2 applies the deltas of a fetched
        // pack before anything can look at it.
        // SAFETY: the option takes one size_t; otherwise as above.
        #[allow(unsafe_code)]
        let result = unsafe {
            libgit2_sys::git_libgit2_opts(
                libgit2_sys::GIT_OPT_SET_PACK_MAX_OBJECT_SIZE as std::ffi::c_int,
                MAX_FILE_BYTES,
            )
        };
        assert_eq!(result, 0, "libgit2 has had this option since 1.9");
        // SAFETY: the list is a global of libgit2, changed before any repository is opened, as above.
        #[allow(unsafe_code)]
        // Without it libgit2 refuses partial clones altogether; the git program fetches their missing
        // objects.
        let _ = unsafe { git2::opts::set_extensions(&["partialclone"]) };
    });
}

/// Starts libgit2 without its certificates. It would read the file in the variable right away, and reading
/// some 150 certificates takes longer than opening a store. Most processes never contact a server; the others
/// call [`load_certificates`].
fn start_without_certificates() {
    let named = std::env::var_os(CERTIFICATES);
    // SAFETY: no C code may read the environment at this time. Rust's own accesses take a lock. The C code in
    // this program is libgit2 and its dependencies, and none of it has been started. git2's
    // `openssl_env_init` changes the same variable in the same way and at the same point.
    #[allow(unsafe_code)]
    unsafe {
        std::env::remove_var(CERTIFICATES);
    }
    libgit2_sys::init();
    if let Some(named) = named {
        // SAFETY: as above; other threads that need libgit2 still wait for this one.
        #[allow(unsafe_code)]
        unsafe {
            std::env::set_var(CERTIFICATES, named);
        }
    }
}

/// Loads the certificates that authenticate servers: those in the environment, else the system's. Without
/// any, no server is trusted.
pub(crate) fn load_certificates() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        crate::native::rate_limit::watch_responses();
        let found = openssl_probe::probe();
        // SAFETY: both change libgit2's only TLS context. `Once` prevents concurrent calls, and no connection
        // uses the context yet, because all connections are made after this call.
        #[allow(unsafe_code)]
        unsafe {
            if let Some(file) = found.cert_file {
                let _ = git2::opts::set_ssl_cert_file(file);
            }
            if let Some(directory) = found.cert_dir {
                let _ = git2::opts::set_ssl_cert_dir(directory);
            }
        }
    });
}
