//! Keeps the screen up to date and the terminal clean.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use beads_engine::failure::Failure;
use beads_engine::request::{Call, EventsQuery, Query};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use super::draw::{Look, draw};
use super::screen::{Mode, Request, Screen};
use super::snapshot::Snapshot;
use super::{Store, outcome, wording};

/// How long one request for events waits.
const LONG_POLL: Duration = Duration::from_secs(20);

/// How long to wait before the store is asked again after an error.
const RETRY: Duration = Duration::from_secs(2);

/// The shortest time between two requests for everything, however many events there are.
const PACE: Duration = Duration::from_millis(500);

/// After a request for everything, this many times as long as it took passes before the next one, because the
/// agents need the machine, too.
const REST_FACTOR: u32 = 4;

/// How often durations on the screen are updated.
const TICK: Duration = Duration::from_secs(1);

/// What reaches the screen.
enum Input {
    Terminal(Event),
    Store(Result<Box<Snapshot>, Failure>),
    /// The result of a change: what was done, or why not.
    Done(Result<String, String>),
    Page(String, Result<String, Failure>),
    Ended,
}

/// What the worker is asked for.
enum Work {
    Refresh,
    Do(Request),
}

/// Shows the screen until the reader quits or a signal ends the process.
pub fn run(store: &Arc<dyn Store>, color: bool, since_ms: u64) -> Result<(), Failure> {
    let (to_screen, inputs) = mpsc::channel();
    let (to_worker, work) = mpsc::channel();
    let mut screen = Screen::default();
    screen.update(Snapshot::of(store.as_ref(), since_ms)?);
    let mut terminal = ratatui::try_init().map_err(|error| terminal_failure(&error))?;
    spawn_input(to_screen.clone());
    spawn_signals(to_screen.clone());
    spawn_events(Arc::clone(store), to_worker.clone());
    spawn_worker(Arc::clone(store), since_ms, (to_screen, work));
    let shown =
        show(&mut terminal, &mut screen, (&inputs, &to_worker), &|| Look { color, clock: store.clock() });
    ratatui::restore();
    shown.map_err(|error| terminal_failure(&error))
}

fn terminal_failure(error: &io::Error) -> Failure {
    Failure::new(beads_core::Code::IoError, format!("the terminal cannot be used: {error}"))
}

fn show(
    terminal: &mut DefaultTerminal,
    screen: &mut Screen,
    (inputs, worker): (&Receiver<Input>, &Sender<Work>),
    look: &dyn Fn() -> Look,
) -> io::Result<()> {
    loop {
        let look = look();
        screen.snapshot.now_ms = look.clock.now_ms;
        screen.resize(terminal.size()?.width.into());
        terminal.draw(|frame| draw(screen, &look, frame.area(), frame.buffer_mut()))?;
        let mut next = match inputs.recv_timeout(TICK) {
            Ok(input) => Some(input),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        // Everything that has arrived is handled before the screen is drawn again.
        while let Some(input) = next {
            let width = terminal.size()?.width;
            if !handle(screen, input, worker, width.into()) {
                return Ok(());
            }
            next = inputs.try_recv().ok();
        }
    }
}

/// Takes in one input. Returns whether to go on.
fn handle(screen: &mut Screen, input: Input, worker: &Sender<Work>, width: usize) -> bool {
    match input {
        Input::Ended => return false,
        Input::Terminal(Event::Key(key)) if key.kind != KeyEventKind::Release => match screen.key(key) {
            Some(Request::Quit) => return false,
            Some(request) => return worker.send(Work::Do(request)).is_ok(),
            None => {}
        },
        Input::Terminal(_) => {}
        Input::Store(Ok(snapshot)) => {
            screen.store_failure = None;
            screen.update(*snapshot);
        }
        Input::Store(Err(failure)) => {
            screen.store_failure = Some(format!("the store does not answer: {}", failure.message));
        }
        Input::Done(Ok(message) | Err(message)) => screen.message = Some(message),
        Input::Page(title, Ok(text)) if screen.mode == Mode::List => {
            screen.mode = Mode::Page { title, text: beads_engine::render::wrap(&text, width), top: 0 }
        }
        // The reader does something else by now.
        Input::Page(_, Ok(_)) => {}
        Input::Page(_, Err(failure)) => screen.message = Some(failure.message),
    }
    true
}

/// Reads keys and changes of the size. The thread ends with the process.
fn spawn_input(screen: Sender<Input>) {
    thread::spawn(move || {
        loop {
            let input = event::read().map_or(Input::Ended, Input::Terminal);
            let is_last = matches!(input, Input::Ended);
            if screen.send(input).is_err() || is_last {
                return;
            }
        }
    });
}

/// Waits for a signal that ends the process, so that the terminal is restored first.
fn spawn_signals(screen: Sender<Input>) {
    thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            use tokio::signal::unix::{SignalKind, signal};
            let kinds = [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt()];
            let [Ok(mut terminate), Ok(mut hangup), Ok(mut interrupt)] = kinds.map(signal) else { return };
            tokio::select! {
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
                _ = interrupt.recv() => {}
            }
        });
        let _ = screen.send(Input::Ended);
    });
}

/// Asks for a refresh whenever the store reports an event.
fn spawn_events(store: Arc<dyn Store>, worker: Sender<Work>) {
    let follow = move || -> Result<(), Failure> {
        let mut cursor = None;
        loop {
            let wait = cursor.is_some().then_some(LONG_POLL);
            let query = EventsQuery { since: cursor.clone(), ids: Vec::new(), limit: None };
            let batch = store.ask(Call::query(Query::Events(query)).waiting(wait))?;
            let next = batch["cursor"].as_str().unwrap_or_default().parse()?;
            if cursor.replace(next) != cursor && worker.send(Work::Refresh).is_err() {
                return Ok(());
            }
        }
    };
    thread::spawn(move || {
        // A daemon that was stopped or replaced is asked again.
        while follow().is_err() {
            thread::sleep(RETRY);
        }
    });
}

/// Asks the store on behalf of the screen, which never waits.
fn spawn_worker(store: Arc<dyn Store>, since_ms: u64, (screen, work): (Sender<Input>, Receiver<Work>)) {
    thread::spawn(move || {
        let mut queue = Queue::new(work);
        let mut due = Instant::now() + PACE;
        while let Some(next) = queue.next(due) {
            let input = match next {
                Work::Do(Request::Change(said, call)) => {
                    queue.refresh();
                    Input::Done(match store.ask((*call).clone()) {
                        Ok(answer) => Ok(outcome::done(&call, &said, &answer)),
                        Err(failure) => Err(outcome::refused(&call, &failure)),
                    })
                }
                Work::Do(Request::Open(title, call)) => {
                    Input::Page(title, store.text(*call, wording::PAGE_WIDTH))
                }
                Work::Refresh | Work::Do(Request::Refresh | Request::Quit) => {
                    let start = Instant::now();
                    let snapshot = Snapshot::of(store.as_ref(), since_ms);
                    due = Instant::now() + PACE.max(start.elapsed() * REST_FACTOR);
                    Input::Store(snapshot.map(Box::new))
                }
            };
            if screen.send(input).is_err() {
                return;
            }
        }
    });
}

/// What the worker still has to do. All refreshes that are asked for are one, and what the reader does comes first.
struct Queue {
    work: Receiver<Work>,
    requests: VecDeque<Request>,
    is_stale: bool,
}

impl Queue {
    fn new(work: Receiver<Work>) -> Self {
        Self { work, requests: VecDeque::new(), is_stale: false }
    }

    /// Asks for a refresh.
    fn refresh(&mut self) {
        self.is_stale = true;
    }

    fn add(&mut self, work: Work) {
        match work {
            Work::Refresh | Work::Do(Request::Refresh | Request::Quit) => self.is_stale = true,
            Work::Do(request) => self.requests.push_back(request),
        }
    }

    /// Waits for what to do next. There is no refresh before it is due. Returns `None` when the screen is gone.
    fn next(&mut self, due: Instant) -> Option<Work> {
        loop {
            while let Ok(work) = self.work.try_recv() {
                self.add(work);
            }
            if let Some(request) = self.requests.pop_front() {
                return Some(Work::Do(request));
            }
            let wait = due.saturating_duration_since(Instant::now());
            let received = match (self.is_stale, wait.is_zero()) {
                (true, true) => {
                    self.is_stale = false;
                    return Some(Work::Refresh);
                }
                (true, false) => self.work.recv_timeout(wait),
                (false, _) => self.work.recv().map_err(RecvTimeoutError::from),
            };
            match received {
                Ok(work) => self.add(work),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::screen::Purpose;
    use super::*;

    fn change() -> Work {
        Work::Do(Request::Change("synced".to_owned(), Box::new(Call::Sync)))
    }

    #[test]
    fn what_the_reader_does_overtakes_any_number_of_refreshes_which_become_one() {
        let (to_worker, work) = mpsc::channel();
        let mut queue = Queue::new(work);
        for number in 0..200 {
            to_worker.send(if number == 100 { change() } else { Work::Refresh }).unwrap();
        }
        let later = Instant::now() + Duration::from_secs(3_600);
        assert!(matches!(queue.next(later), Some(Work::Do(Request::Change(..)))), "it waits for no refresh");
        // More of both while the change is carried out.
        to_worker.send(Work::Refresh).unwrap();
        to_worker.send(change()).unwrap();
        let now = Instant::now();
        assert!(matches!(queue.next(now), Some(Work::Do(Request::Change(..)))));
        assert!(matches!(queue.next(now), Some(Work::Refresh)));
        drop(to_worker);
        assert!(queue.next(now).is_none(), "no refresh is left");
    }

    #[test]
    fn a_page_that_arrives_late_does_not_replace_a_line_being_typed() {
        let (to_worker, _work) = mpsc::channel();
        let mut screen = Screen::default();
        screen.type_line(Purpose::Create);
        let typed = screen.mode.clone();
        let page = || Input::Page("bd-1".to_owned(), Ok("text".to_owned()));
        assert!(handle(&mut screen, page(), &to_worker, 80));
        assert_eq!(screen.mode, typed);
        screen.mode = Mode::List;
        assert!(handle(&mut screen, page(), &to_worker, 80));
        assert!(matches!(screen.mode, Mode::Page { .. }));
    }

    #[test]
    fn the_store_not_answering_is_said_only_as_long_as_it_is_so() {
        let (to_worker, _work) = mpsc::channel();
        let mut screen = Screen::default();
        let failure = Failure::new(beads_core::Code::DaemonUnreachable, "no daemon");
        handle(&mut screen, Input::Store(Err(failure)), &to_worker, 80);
        assert_eq!(screen.footnote(), Some("the store does not answer: no daemon"));
        handle(&mut screen, Input::Done(Ok("closed bd-1".to_owned())), &to_worker, 80);
        assert_eq!(screen.footnote(), Some("closed bd-1"));
        handle(&mut screen, Input::Store(Ok(Box::default())), &to_worker, 80);
        assert_eq!(screen.footnote(), Some("closed bd-1"), "other messages stay");
        screen.message = None;
        assert_eq!(screen.footnote(), None);
    }
}
