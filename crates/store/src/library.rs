//! libgit2 as a whole: how it is started, and what is put off until somebody needs it.

use std::sync::Once;

/// How long a server may say nothing before the library gives up by itself. Longer than any deadline is likely to be: it
/// only ends threads that nobody waits for any more.
const SERVER_SILENCE: std::time::Duration = std::time::Duration::from_secs(300);

/// The file with the certificates of all authorities, for OpenSSL.
const CERTIFICATES: &str = "SSL_CERT_FILE";

/// Starts the library with the options that hold for the whole process: it does not sync what it writes, and it waits for
/// servers without end, unless told otherwise.
pub fn set_up() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // The library must be started before its options can be set.
        start_without_certificates();
        let silence = std::ffi::c_int::try_from(SERVER_SILENCE.as_millis()).unwrap_or(std::ffi::c_int::MAX);
        for (option, value) in [
            (libgit2_sys::GIT_OPT_ENABLE_FSYNC_GITDIR, 1),
            (libgit2_sys::GIT_OPT_SET_SERVER_CONNECT_TIMEOUT, silence),
            (libgit2_sys::GIT_OPT_SET_SERVER_TIMEOUT, silence),
        ] {
            // SAFETY: each of these options takes exactly one int. It writes a global of the library without a lock,
            // which is sound because `Once` lets it run before any repository is opened through this crate, once.
            #[allow(unsafe_code)]
            let result = unsafe { libgit2_sys::git_libgit2_opts(option as std::ffi::c_int, value) };
            assert_eq!(result, 0, "libgit2 knows these options since 1.7");
        }
        // SAFETY: the list is a global of the library, and changed before any repository is opened, as above.
        #[allow(unsafe_code)]
        // Without it partial clones are refused as a whole; what they lack is brought by the git program.
        let _ = unsafe { git2::opts::set_extensions(&["partialclone"]) };
    });
}

/// The library reads the file that the variable names as soon as it starts, and reading some 150 certificates takes longer
/// than opening a store. Nearly all processes never meet a server; those that do ask for [`load_certificates`].
fn start_without_certificates() {
    let named = std::env::var_os(CERTIFICATES);
    // SAFETY: nobody else may look into the environment from C at this time. Rust's own look takes a lock. The C code in
    // this program is the library and what it is built on, and none of it has been started; the bindings change the same
    // variable in the same way and at the same place (git2's `openssl_env_init`).
    #[allow(unsafe_code)]
    unsafe {
        std::env::remove_var(CERTIFICATES);
    }
    libgit2_sys::init();
    if let Some(named) = named {
        // SAFETY: as above; other threads that need the library still wait for this one.
        #[allow(unsafe_code)]
        unsafe {
            std::env::set_var(CERTIFICATES, named);
        }
    }
}

/// Makes the certificates known by which servers are told from impostors: those that the environment names, else the
/// system's. Without any, no server is trusted.
pub fn load_certificates() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let found = openssl_probe::probe();
        // SAFETY: both change the library's one TLS context, which `Once` lets nobody do at the same time, and which no
        // connection uses yet: all are made behind this call.
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
