//! Keeps the screen up to date and the terminal clean.

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
use super::{Store, wording};

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
    Done(Result<String, Failure>),
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
        Input::Store(Ok(snapshot)) => screen.update(*snapshot),
        Input::Store(Err(failure)) => {
            screen.message = Some(format!("the store does not answer: {}", failure.message));
        }
        Input::Done(done) => {
            screen.message = Some(done.unwrap_or_else(|failure| failure.line().trim_end().to_owned()));
        }
        Input::Page(title, Ok(text)) => {
            screen.mode = Mode::Page { title, text: beads_engine::render::wrap(&text, width), top: 0 }
        }
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
        let (mut asked, mut rest) = (Instant::now(), PACE);
        while let Ok(next) = work.recv() {
            let input = match next {
                Work::Refresh | Work::Do(Request::Refresh | Request::Quit) => None,
                Work::Do(Request::Change(done, call)) => {
                    let result = store.ask(*call).map(|_| done);
                    let _ = screen.send(Input::Done(result));
                    None
                }
                Work::Do(Request::Open(title, call)) => {
                    Some(Input::Page(title, store.text(*call, wording::PAGE_WIDTH)))
                }
            };
            let input = match input {
                Some(page) => page,
                None => {
                    thread::sleep(rest.saturating_sub(asked.elapsed()));
                    let start = Instant::now();
                    let snapshot = Snapshot::of(store.as_ref(), since_ms);
                    asked = Instant::now();
                    rest = PACE.max(asked.duration_since(start) * REST_FACTOR);
                    Input::Store(snapshot.map(Box::new))
                }
            };
            if screen.send(input).is_err() {
                return;
            }
        }
    });
}
