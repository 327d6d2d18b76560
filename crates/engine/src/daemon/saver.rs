//! Decides when to save and when to exchange with the remote.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use beads_store::{MAX_ROUNDS, Pace};
use tokio::sync::{mpsc, oneshot};

use super::save_budget::SaveBudget;
use crate::config::Config;
use crate::failure::{Code, Failure};
use crate::request::{Reply, Request};
use crate::service::{Reach, SyncResult};

/// The pause after a failed sync. It doubles with each further failure.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// The longest pause after failed syncs.
const LAST_RETRY: Duration = Duration::from_secs(15);

/// The pause after a server reports a rate limit without a time. It doubles with each further report.
const RATE_LIMITED: Duration = Duration::from_secs(60);
/// The longest such pause.
const LONGEST_RATE_LIMITED: Duration = Duration::from_secs(15 * 60);
/// The longest pause that a server can ask for. Hosting services reset their limits every hour.
const LONGEST_WANTED: Duration = Duration::from_secs(60 * 60);

/// How often a daemon fetches while other machines are active and a local client waits for a result.
const FAST_INTERVAL: Duration = Duration::from_secs(2);

/// A client that waits for a sync.
pub struct Waiter {
    /// Where to send the reply.
    pub reply: oneshot::Sender<Reply>,
    /// The request.
    pub request: Request,
    /// The answer to a claim that this sync should confirm.
    pub claimed: Option<serde_json::Value>,
}

/// After a failure: when to retry at the earliest, and how long that pause is.
type Retry = Option<(Instant, Duration)>;

/// The schedule of saves and exchanges, and the clients that wait for them.
pub struct Saver {
    /// Receives the results of syncs.
    pub results: mpsc::UnboundedReceiver<Result<SyncResult, Failure>>,
    /// Sends the result of a sync from its thread.
    pub send: mpsc::UnboundedSender<Result<SyncResult, Failure>>,
    /// A sync is running.
    pub running: bool,
    /// When the first unsaved change was made.
    first_change: Option<Instant>,
    /// When the latest unsaved change was made.
    last_change: Option<Instant>,
    /// When to retry a failed save.
    retry: Retry,
    /// When to retry a failed exchange. Local saves continue meanwhile.
    remote_retry: Retry,
    last_exchange: Instant,
    /// The processor time that background saves may use.
    save_budget: SaveBudget,
    /// The processor time of the running sync, in microseconds, once it has ended.
    pub spent: Arc<AtomicU64>,
    /// How contended the remote has been.
    pace: Pace,
    /// Until when to leave a contended remote to others.
    backoff_until: Option<Instant>,
    /// Something was saved here that the remote does not have.
    push_pending: bool,
    /// Until when pushes are delayed to stay within the push budget.
    budget: Option<Instant>,
    /// A client asked for the running sync.
    pub asked: bool,
    /// Fetch more often: other machines are active, and a local client waits for a result.
    pub eager: bool,
    /// The clients that wait for the running sync.
    pub waiting: Vec<Waiter>,
    /// The clients that wait for the sync after it.
    pub next_waiting: Vec<Waiter>,
}

impl Default for Saver {
    fn default() -> Self {
        let (send, results) = mpsc::unbounded_channel();
        Self {
            results,
            send,
            running: false,
            first_change: None,
            last_change: None,
            retry: None,
            remote_retry: None,
            last_exchange: Instant::now(),
            save_budget: SaveBudget::default(),
            spent: Arc::default(),
            pace: Pace::default(),
            backoff_until: None,
            push_pending: false,
            budget: None,
            asked: false,
            eager: false,
            waiting: Vec::new(),
            next_waiting: Vec::new(),
        }
    }
}

impl Saver {
    /// Records a change.
    pub fn changed(&mut self, now: Instant) {
        self.first_change.get_or_insert(now);
        self.last_change = Some(now);
    }

    /// Returns when to save: `sync.quiet` after the last change, but at most `sync.max_delay` after the
    /// first; later if the last saves took much processor time.
    pub fn save_due(&self, config: &Config) -> Option<Instant> {
        if self.running {
            return None;
        }
        let quiet = self.last_change? + config.duration("sync.quiet");
        let latest = self.first_change? + config.duration("sync.max_delay");
        let due = Some(quiet.min(latest)).max(self.save_budget.allowed_at())?;
        Some(self.retry.map_or(due, |(not_before, _)| due.max(not_before)))
    }

    /// Returns when to fetch, to push delayed changes, or to retry a failed remote.
    pub fn exchange_due(&self, config: &Config) -> Option<Instant> {
        if self.running {
            return None;
        }
        if let Some((not_before, _)) = self.remote_retry {
            return Some(not_before);
        }
        let delayed_push = self.backoff_until.max(self.budget).filter(|_| self.push_pending);
        let due = [self.fetch_due(config), delayed_push].into_iter().flatten().min()?;
        Some(self.backoff_until.map_or(due, |backoff_until| due.max(backoff_until)))
    }

    /// Returns when to fetch. The push budget does not delay that.
    fn fetch_due(&self, config: &Config) -> Option<Instant> {
        let interval = config.duration("sync.interval");
        let interval = if self.eager { interval.min(FAST_INTERVAL) } else { interval };
        (!interval.is_zero()).then(|| self.last_exchange + interval)
    }

    /// Returns the earliest time for an exchange before it is due: not while the remote is failing or
    /// contended, and not immediately after the last exchange.
    pub fn earliest_exchange(&self, wanted: Instant) -> Option<Instant> {
        let blocked = self.running || self.remote_retry.is_some();
        let earliest = self.last_exchange + FIRST_RETRY;
        let earliest = self.backoff_until.map_or(earliest, |backoff_until| backoff_until.max(earliest));
        (!blocked).then(|| wanted.max(earliest))
    }

    /// Begins a sync and returns its scope. A background sync does not contact a failing or contended remote,
    /// and does not push while the push budget is exhausted.
    pub fn begin(&mut self, asked: bool, budget: Option<Instant>, config: &Config, now: Instant) -> Reach {
        (self.asked, self.budget) = (asked, budget);
        (self.first_change, self.last_change) = (None, None);
        let failing = self.remote_retry.is_some_and(|(not_before, _)| now < not_before);
        let resting = self.remote_retry.is_none() && self.backoff_until.is_some_and(|until| now < until);
        let may_push = asked || budget.is_none_or(|until| until <= now);
        let may_look = may_push || self.fetch_due(config).is_some_and(|due| due <= now);
        let reach = match () {
            () if !asked && (failing || resting) || !may_look => Reach::Local,
            () if may_push => Reach::Remote { asked },
            () => Reach::Fetch,
        };
        self.push_pending = !may_push || reach == Reach::Local;
        if reach != Reach::Local {
            self.last_exchange = now;
        }
        reach
    }

    /// Begins a fetch. It pushes nothing, so what is due stays due.
    pub fn begin_fetch(&mut self) {
        self.asked = true;
    }

    /// Records how many races for the remote an exchange took, and backs off accordingly.
    pub fn record_races(&mut self, result: Option<&SyncResult>, now: Instant) {
        let rounds = result
            .map(|result| &result.exchanged)
            .filter(|exchanged| exchanged.remote.is_some() && matches!(exchanged.reach, Reach::Remote { .. }))
            .and_then(|exchanged| match &exchanged.outcome {
                Ok(exchange) => Some(exchange.rounds),
                Err(failure) => is_contention(failure).then_some(MAX_ROUNDS),
            });
        let Some(rounds) = rounds else { return };
        let elapsed = now.saturating_duration_since(self.last_exchange);
        let elapsed = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        self.pace.record_exchange(rounds, elapsed);
        let pause = Duration::from_millis(self.pace.pause_ms(beads_store::random_u64().unwrap_or_default()));
        self.backoff_until = (!pause.is_zero()).then(|| now + pause);
    }

    /// Records the processor time of the sync that has just ended, unless a client asked for it.
    pub fn record_cost(&mut self, now: Instant) {
        let spent = Duration::from_micros(self.spent.swap(0, Ordering::Relaxed));
        if !self.asked {
            self.save_budget.spend(spent, now);
        }
    }

    /// Records a successful save.
    pub fn saved(&mut self) {
        self.retry = None;
    }

    /// Records a successful exchange.
    pub fn exchanged(&mut self) {
        (self.retry, self.remote_retry) = (None, None);
    }

    /// Records a failed save.
    pub fn failed(&mut self, now: Instant) {
        self.retry = back_off(self.retry, now);
    }

    /// Records a failed exchange. Contention is not a failure of the remote, so it is retried soon.
    pub fn remote_failed(&mut self, failure: &Failure, now: Instant) {
        if is_rate_limit(failure) {
            let before = self.remote_retry.map(|(_, pause)| pause).filter(|pause| *pause >= RATE_LIMITED);
            let pause = match (wanted_pause(failure), before) {
                (Some(wanted), _) => wanted.clamp(FIRST_RETRY, LONGEST_WANTED),
                (None, None) => RATE_LIMITED,
                // A failed attempt of a client does not lengthen the pause.
                (None, Some(before)) if self.asked => before,
                (None, Some(before)) => (before * 2).min(LONGEST_RATE_LIMITED),
            };
            self.remote_retry = Some((now + pause.mul_f64(1.0 + fraction() / 4.0), pause));
            return;
        }
        if !is_contention(failure) {
            // A failed attempt of a client does not lengthen the pause of the background syncs.
            if !(self.asked && self.remote_retry.is_some()) {
                self.remote_retry = back_off(self.remote_retry, now);
            }
            return;
        }
        let pause = FIRST_RETRY.mul_f64(fraction());
        self.remote_retry = Some((now + pause, FIRST_RETRY));
    }
}

/// Doubles the pause.
fn back_off(retry: Retry, now: Instant) -> Retry {
    let pause = retry.map_or(FIRST_RETRY, |(_, pause)| (pause * 2).min(LAST_RETRY));
    // The random factor keeps machines that failed together from retrying together.
    Some((now + pause.mul_f64(0.5 + fraction() / 2.0), pause))
}

/// Returns a random number between 0 and 1.
fn fraction() -> f64 {
    beads_store::random_u64().unwrap_or_default() as f64 / u64::MAX as f64
}

/// Returns how long the server asked its clients to wait.
fn wanted_pause(failure: &Failure) -> Option<Duration> {
    failure.details["retry_after_s"].as_u64().map(Duration::from_secs)
}

/// Returns whether the server reported a rate limit.
fn is_rate_limit(failure: &Failure) -> bool {
    if wanted_pause(failure).is_some() {
        return true;
    }
    let message = failure.message.to_ascii_lowercase();
    let markers = ["error: 429", "status code: 429", "too many requests", "rate limit", "rate-limit"];
    failure.code == Code::NetworkError && markers.iter().any(|marker| message.contains(marker))
}

fn is_contention(failure: &Failure) -> bool {
    failure.code == Code::SyncContention
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ASKED: Reach = Reach::Remote { asked: true };
    const UNASKED: Reach = Reach::Remote { asked: false };
    const LONG: Duration = Duration::from_secs(3_600);

    fn contention() -> Failure {
        Failure::new(Code::SyncContention, "others were faster")
    }

    fn begin(saver: &mut Saver, asked: bool, budget: Option<Instant>, now: Instant) -> Reach {
        saver.begin(asked, budget, &Config::default(), now)
    }

    /// Asserts that an exchange begins when it is due. Otherwise the daemon would wake up in a loop.
    fn is_done_when_due(saver: &mut Saver) {
        let due = saver.exchange_due(&Config::default()).expect("something is due");
        assert_eq!(begin(saver, false, None, due), UNASKED, "a due exchange is not delayed again");
    }

    #[test]
    fn a_push_delayed_by_contention_is_due_when_the_backoff_ends() {
        let mut saver = Saver::default();
        let now = Instant::now();
        saver.backoff_until = Some(now + Duration::from_secs(5));
        assert_eq!(begin(&mut saver, false, None, now), Reach::Local);
        assert_eq!(saver.exchange_due(&Config::default()), saver.backoff_until);
        is_done_when_due(&mut saver);
        assert!(saver.exchange_due(&Config::default()) > saver.backoff_until, "no push is pending");
    }

    #[test]
    fn an_expensive_save_delays_the_next_one_and_not_an_explicit_sync() {
        let (mut saver, now) = (Saver::default(), Instant::now());
        saver.spent.store(3_000_000, Ordering::Relaxed);
        saver.record_cost(now);
        saver.changed(now);
        let due = saver.save_due(&Config::default());
        assert!(due >= Some(now + Duration::from_secs(60)));
        assert_eq!(begin(&mut saver, true, None, now), ASKED);
        saver.spent.store(60_000_000, Ordering::Relaxed);
        saver.record_cost(now);
        saver.changed(now);
        assert_eq!(saver.save_due(&Config::default()), due, "an explicit sync spends nothing");
    }

    #[test]
    fn an_explicit_sync_ignores_the_backoff() {
        let mut saver = Saver::default();
        let now = Instant::now();
        saver.backoff_until = Some(now + LONG);
        assert_eq!(begin(&mut saver, true, None, now), ASKED);
    }

    #[test]
    fn contention_is_retried_soon_and_a_failing_remote_ever_later() {
        let mut saver = Saver { backoff_until: Some(Instant::now() + LONG), ..Saver::default() };
        for _ in 0..10 {
            saver.remote_failed(&contention(), Instant::now());
            let due = saver.exchange_due(&Config::default()).expect("it is tried again");
            assert!(due <= Instant::now() + FIRST_RETRY);
            is_done_when_due(&mut saver);
        }
        for _ in 0..40 {
            saver.remote_failed(&away(), Instant::now());
        }
        let due = saver.exchange_due(&Config::default()).expect("it is tried again");
        assert!(due > Instant::now() + 4 * FIRST_RETRY && due <= Instant::now() + LAST_RETRY);
        is_done_when_due(&mut saver);
    }

    fn away() -> Failure {
        Failure::new(Code::NetworkError, "away")
    }

    #[test]
    fn an_explicit_attempt_never_lengthens_the_pause() {
        let mut saver = Saver::default();
        saver.remote_failed(&away(), Instant::now());
        let before = saver.remote_retry;
        for _ in 0..10 {
            assert_eq!(begin(&mut saver, true, None, Instant::now()), ASKED);
            saver.remote_failed(&away(), Instant::now());
        }
        assert_eq!(saver.remote_retry, before);
        let limited = Failure::new(Code::NetworkError, "the server returned error: 429");
        for _ in 0..10 {
            saver.remote_failed(&limited, Instant::now());
        }
        assert_eq!(saver.remote_retry.map(|(_, pause)| pause), Some(RATE_LIMITED));
    }

    #[test]
    fn a_rate_limit_pauses_exchanges() {
        let mut saver = Saver::default();
        let said = "fatal: unable to access: The requested URL returned error: 429";
        saver.remote_failed(&Failure::new(Code::NetworkError, said), Instant::now());
        assert!(saver.exchange_due(&Config::default()) >= Some(Instant::now() + RATE_LIMITED / 2));
        for _ in 0..9 {
            saver.remote_failed(&Failure::new(Code::NetworkError, said), Instant::now());
        }
        let due = saver.exchange_due(&Config::default());
        assert!(
            due >= Some(Instant::now() + LONGEST_RATE_LIMITED / 2),
            "the pause grows while the limit lasts"
        );
        assert!(due <= Some(Instant::now() + LONGEST_RATE_LIMITED * 2));
        saver.remote_failed(&away(), Instant::now());
        assert!(saver.exchange_due(&Config::default()) <= Some(Instant::now() + LAST_RETRY));
    }

    #[test]
    fn the_pause_follows_retry_after() {
        let mut saver = Saver::default();
        for (asked, expected) in [(120, 120), (7, 7), (0, 1), (1_800, 1_800), (u64::MAX, 60 * 60)] {
            let failure =
                Failure::new(Code::NetworkError, "error: 403").with(json!({"retry_after_s": asked}));
            saver.remote_failed(&failure, Instant::now());
            let (earliest, latest) = (Duration::from_secs(expected), Duration::from_secs(expected * 2));
            let due = saver.exchange_due(&Config::default());
            assert!(due > Some(Instant::now() + earliest - FIRST_RETRY), "{asked}");
            assert!(due < Some(Instant::now() + latest), "{asked}");
        }
    }

    #[test]
    fn a_push_delayed_by_the_budget_is_due_when_the_budget_allows() {
        let mut saver = Saver::default();
        let now = Instant::now();
        let allowed_at = now + Duration::from_secs(9);
        assert_eq!(begin(&mut saver, false, Some(allowed_at), now), Reach::Local);
        assert_eq!(saver.exchange_due(&Config::default()), Some(allowed_at));
        assert_eq!(begin(&mut saver, false, None, allowed_at), UNASKED);
        assert_eq!(begin(&mut saver, true, Some(allowed_at), now), ASKED, "an explicit sync does not wait");
    }

    #[test]
    fn a_spent_budget_delays_pushes_and_not_fetches() {
        let mut saver = Saver::default();
        let interval = Config::default().duration("sync.interval");
        let start = saver.last_exchange;
        let (look, allowed_at) = (start + interval, start + 10 * interval);
        assert_eq!(begin(&mut saver, false, Some(allowed_at), start), Reach::Local);
        assert_eq!(saver.exchange_due(&Config::default()), Some(look));
        assert_eq!(begin(&mut saver, false, Some(allowed_at), look), Reach::Fetch);
        assert_eq!(saver.exchange_due(&Config::default()), Some(look + interval), "and again");
        assert_eq!(begin(&mut saver, false, None, allowed_at), UNASKED, "the delayed push is made");
    }

    #[test]
    fn fetches_are_more_frequent_while_a_client_waits() {
        let saver = Saver { eager: true, ..Saver::default() };
        assert!(saver.exchange_due(&Config::default()) <= Some(Instant::now() + FAST_INTERVAL));
    }

    /// Counts how often an idle daemon tries a remote in a number of minutes, if every try fails in the same
    /// way and takes no time. The time is simulated.
    fn tries(failure: &Failure, minutes: u64) -> usize {
        let start = Instant::now();
        let end = start + Duration::from_secs(60 * minutes);
        let mut saver = Saver { last_exchange: start, ..Saver::default() };
        saver.changed(start);
        let (mut now, mut tries, mut wakes) = (start, 0, 0);
        loop {
            let config = Config::default();
            let due = [saver.save_due(&config), saver.exchange_due(&config)].into_iter().flatten().min();
            now = now.max(due.expect("something is always due"));
            if now > end {
                return tries;
            }
            wakes += 1;
            assert!(wakes < 10_000, "the daemon spins");
            if begin(&mut saver, false, None, now) != Reach::Local {
                tries += 1;
                saver.remote_failed(failure, now);
            }
        }
    }

    /// A remote with a branch `beads`, one with a stale lock file on the ref, and a push URL that is another
    /// repository all fail like this (`store/tests/refused_refs.rs`). When this was mistaken for contention,
    /// a remote was asked 399 to 588 times a minute.
    #[test]
    fn an_idle_daemon_tries_a_refusing_remote_a_few_times_a_minute() {
        for code in [Code::PushRefused, Code::GitError, Code::NetworkError, Code::RemoteInvalid] {
            let failure = Failure::new(code.clone(), "refused");
            let (first, hour) = (tries(&failure, 1), tries(&failure, 60));
            assert!((1..=12).contains(&first), "{code}: {first} tries in the first minute");
            assert!((60..=8 * 60).contains(&hour), "{code}: {hour} tries in an hour");
        }
    }
}
