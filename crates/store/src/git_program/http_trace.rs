//! What a server asks for in headers that git keeps to itself: git prints them when it is asked to trace.

/// Makes git print the headers of its requests to standard error, without bodies and with credentials hidden.
pub(super) const TRACE: [(&str, &str); 3] =
    [("GIT_TRACE_CURL", "2"), ("GIT_TRACE_CURL_NO_DATA", "1"), ("GIT_TRACE_REDACT", "1")];

/// How a received header begins in the trace.
const RECEIVED: &str = "<= Recv header: ";

/// Returns whether a line is part of the trace, and not something that git has to say.
pub(super) fn is_trace(line: &str) -> bool {
    let marks = ["=> Send ", "<= Recv ", "== Info: "];
    line.contains(".c:") && marks.iter().any(|mark| line.contains(mark))
}

/// Returns the value of the last `Retry-After` that a server sent: seconds, or a date.
pub(super) fn retry_after(stderr: &str) -> Option<String> {
    let headers = stderr.lines().filter_map(|line| line.split_once(RECEIVED).map(|(_, header)| header));
    let pairs = headers.filter_map(|header| header.split_once(':'));
    let mut asked = pairs.filter(|(name, _)| name.trim().eq_ignore_ascii_case("retry-after"));
    asked.next_back().map(|(_, value)| value.trim().to_owned())
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
        let said: Vec<_> = LIMITED.lines().filter(|line| !is_trace(line)).collect();
        assert_eq!(said, [LIMITED.lines().last().unwrap_or_default()]);
    }

    #[test]
    fn what_is_sent_or_said_is_no_header_of_the_server() {
        for line in ["=> Send header: Retry-After: 9", "fatal: Retry-After: 9", ""] {
            assert_eq!(retry_after(line), None, "{line:?}");
        }
    }
}
