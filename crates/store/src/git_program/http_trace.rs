//! Response headers that git does not print unless tracing is on.

/// Makes git print the headers of its requests to standard error, without bodies and with credentials hidden.
pub(super) const TRACE: [(&str, &str); 3] =
    [("GIT_TRACE_CURL", "2"), ("GIT_TRACE_CURL_NO_DATA", "1"), ("GIT_TRACE_REDACT", "1")];

/// The beginning of a received header in the trace.
const RECEIVED: &str = "<= Recv header: ";

/// Returns whether a line is part of the trace rather than a message of git.
pub(super) fn is_trace(line: &str) -> bool {
    let marks = ["=> Send ", "<= Recv ", "== Info: "];
    line.contains(".c:") && marks.iter().any(|mark| line.contains(mark))
}

/// Returns the value of the last `Retry-After` header that the server sent: seconds, or a date.
pub(super) fn retry_after(stderr: &str) -> Option<String> {
    let headers = stderr.lines().filter_map(|line| line.split_once(RECEIVED).map(|(_, header)| header));
    let pairs = headers.filter_map(|header| header.split_once(':'));
    let mut values = pairs.filter(|(name, _)| name.trim().eq_ignore_ascii_case("retry-after"));
    values.next_back().map(|(_, value)| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITED: &str = "16:50:32.071262 http.c:872              => Send header: GET /x.git/info/refs HTTP/1.1\n\
        16:50:32.075560 http.c:872              <= Recv header: HTTP/1.0 429 Too Many Requests\n\
        16:50:32.075576 http.c:872              <= Recv header: retry-after: 120\n\
        16:50:32.076806 http.c:913              == Info: Closing connection 0\n\
        fatal: unable to access 'http://host/x.git/': The requested URL returned error: 429\n";

    #[test]
    fn the_header_is_found_and_the_trace_is_not_shown() {
        assert_eq!(retry_after(LIMITED).as_deref(), Some("120"));
        let messages: Vec<_> = LIMITED.lines().filter(|line| !is_trace(line)).collect();
        assert_eq!(messages, [LIMITED.lines().last().unwrap_or_default()]);
    }

    #[test]
    fn sent_headers_and_messages_are_not_headers_of_the_server() {
        for line in ["=> Send header: Retry-After: 9", "fatal: Retry-After: 9", ""] {
            assert_eq!(retry_after(line), None, "{line:?}");
        }
    }
}
