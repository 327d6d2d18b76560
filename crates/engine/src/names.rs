//! How names of hosts and users are looked up by a program that has the C library in it.

/// The C library looks names up through plugins, which are loaded when the first name is looked up and must be of exactly its
/// own version: one that is linked into a program meets those of whatever system it runs on. Files and DNS need no
/// plugin.
#[cfg(linked_statically)]
pub fn without_plugins() {
    use std::ffi::{CStr, c_char, c_int};

    #[allow(unsafe_code)]
    // SAFETY: as `nss.h` of the GNU C library declares it.
    unsafe extern "C" {
        fn __nss_configure_lookup(database: *const c_char, services: *const c_char) -> c_int;
    }
    let choose = |database: &CStr, services: &CStr| {
        // SAFETY: both are strings that end with a zero and live for ever. It must not run while a name is being looked up:
        // it is called before a store is opened, and only an open store has remotes whose names are looked up.
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

/// The system's C library has plugins that suit it.
#[cfg(not(linked_statically))]
pub fn without_plugins() {}
