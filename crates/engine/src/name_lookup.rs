//! Looks up the names of hosts and users in a program that is statically linked with the C library.

/// Makes the C library look names up in files and DNS only. By default it loads plugins on the first lookup,
/// and these must be of exactly its own version. A statically linked program meets the plugins of whatever
/// system it runs on. Files and DNS need no plugin.
#[cfg(linked_statically)]
pub fn disable_plugins() {
    use std::ffi::{CStr, c_char, c_int};

    #[allow(unsafe_code)]
    // SAFETY: matches the declaration in `nss.h` of the GNU C library.
    unsafe extern "C" {
        fn __nss_configure_lookup(database: *const c_char, services: *const c_char) -> c_int;
    }
    let choose = |database: &CStr, services: &CStr| {
        // SAFETY: both strings are static and NUL-terminated. The function must not run during a lookup. It
        // is called before a store is opened, and only an open store looks up the names of its remotes.
        #[allow(unsafe_code)]
        let result = unsafe { __nss_configure_lookup(database.as_ptr(), services.as_ptr()) };
        debug_assert_eq!(result, 0, "{database:?} is a database of the C library");
    };
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        choose(c"hosts", c"files dns");
        choose(c"passwd", c"files");
    });
}

/// Does nothing: the plugins match the system's own C library.
#[cfg(not(linked_statically))]
pub fn disable_plugins() {}
