//! The `Retry-After` header of a server that limits requests. libgit2 reports only the status of a refused request, so
//! the header is read from its trace.

use std::cell::RefCell;

use git2::TraceLevel;

/// How libgit2 begins the trace of a response.
const RECEIVED: &[u8] = b"Received:\n";

thread_local! {
    /// The header of the last response on this thread. A connection has a thread of its own.
    static RETRY_AFTER: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Starts to look at responses, in the whole process.
pub(crate) fn watch_responses() {
    // Without the trace, a limited request is reported like any other failure.
    let _ = git2::trace_set(TraceLevel::Trace, |_, message| {
        if let Some(response) = message.strip_prefix(RECEIVED) {
            RETRY_AFTER.with_borrow_mut(|header| *header = retry_after(response));
        }
    });
}

/// Returns the header of the last response on this thread, once.
pub(super) fn take_retry_after() -> Option<String> {
    RETRY_AFTER.take()
}

/// Returns the value of the header in the head of a response.
fn retry_after(response: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(response);
    let head = text.lines().take_while(|line| !line.trim().is_empty());
    let mut pairs = head.filter_map(|line| line.split_once(':'));
    let value = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("retry-after"))?.1;
    Some(value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_found_in_the_head_of_a_response_only() {
        let limited = b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 120\r\n\r\nslow down";
        assert_eq!(retry_after(limited).as_deref(), Some("120"));
        let body = b"HTTP/1.1 200 OK\r\ncontent-length: 15\r\n\r\nRetry-After: 120";
        assert_eq!(retry_after(body), None);
        assert_eq!(retry_after(b"\xff"), None);
    }
}
