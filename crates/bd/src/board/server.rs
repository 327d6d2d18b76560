//! The server: routes, the headers of every reply, and its start and end.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{get, post};
use beads_engine::failure::{Code, Failure};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::api::Findings;
use super::auth::{Gate, Token, preferred_port, spelled};
use super::recent::Recent;
use super::store::StoreClient;
use super::stream::MAX_STREAMS;
use super::{api, assets, reply, stream};

/// The largest request: a description and its JSON.
const MAX_BODY: usize = 4 * 1024 * 1024;

/// The headers of every reply. Nothing may be loaded from elsewhere, nothing inline runs, and no other page
/// may embed this one.
const HEADERS: [(&str, &str); 6] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; worker-src 'self'; \
         img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("x-frame-options", "DENY"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// How to serve the board.
#[derive(Debug, Clone, Default)]
pub struct ServerOptions {
    /// The port; the store's own if absent.
    pub port: Option<u16>,
    /// The address or name to listen on; loopback if absent.
    pub host: Option<String>,
    /// Refuse writes.
    pub read_only: bool,
}

/// What all requests share.
#[derive(Debug)]
pub struct Shared {
    pub store: StoreClient,
    pub read_only: bool,
    pub streams: Arc<Semaphore>,
    pub findings: Arc<Mutex<Option<Findings>>>,
    pub recent: Arc<Recent>,
    /// The number of writes through this board.
    pub acts: AtomicU64,
    gate: Gate,
    stopping: AtomicBool,
}

impl Shared {
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}

/// A server that listens but does not answer yet.
#[derive(Debug)]
pub struct Server {
    listener: std::net::TcpListener,
    shared: Arc<Shared>,
    /// The address for the browser, with the token in its fragment.
    pub url: String,
    /// The store's own port was taken.
    pub on_other_port: bool,
}

impl Server {
    /// Starts to listen.
    pub fn bind(store: StoreClient, token: &Token, options: &ServerOptions) -> Result<Self, Failure> {
        let name = options.host.as_deref().map(spelled);
        let ip = listen_on(name.as_deref())?;
        let wanted = options.port.unwrap_or_else(|| preferred_port(&store.place.git_dir));
        let bind = |port| std::net::TcpListener::bind(SocketAddr::new(ip, port));
        let (listener, on_other_port) = match (bind(wanted), options.port) {
            (Ok(listener), _) => (listener, false),
            (Err(error), Some(_)) => return Err(cannot_listen(ip, wanted, &error)),
            (Err(_), None) => (bind(0).map_err(|error| cannot_listen(ip, 0, &error))?, true),
        };
        let failed = |error: std::io::Error| cannot_listen(ip, wanted, &error);
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let host = match &name {
            Some(name) => format!("{name}:{}", address.port()),
            None => address.to_string(),
        };
        let shared = Shared {
            gate: Gate::new(token.clone(), address, name.as_deref()),
            store,
            read_only: options.read_only,
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            findings: Arc::default(),
            recent: Arc::default(),
            acts: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
        };
        let url = format!("http://{host}/#token={}", token.as_str());
        Ok(Self { listener, shared: Arc::new(shared), url, on_other_port })
    }

    /// Answers requests until the process is interrupted.
    pub fn run(self) -> Result<(), Failure> {
        std::thread::spawn(assets::prepare);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Failure::internal)?;
        let shared = self.shared.clone();
        runtime.block_on(async move {
            let listener = TcpListener::from_std(self.listener).map_err(Failure::internal)?;
            let served = axum::serve(listener, router(self.shared));
            tokio::select! {
                served = served => served.map_err(Failure::internal),
                () = interrupted() => Ok(()),
            }
        })?;
        shared.stopping.store(true, Ordering::Relaxed);
        // A stream may still wait for the daemon; nothing is lost when its thread ends with the process.
        runtime.shutdown_background();
        Ok(())
    }
}

/// Waits for an interrupt or a termination signal.
async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminated) = signal(SignalKind::terminate()) else { return };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminated.recv() => {}
    }
}

fn router(shared: Arc<Shared>) -> Router {
    let data = Router::new()
        .route("/snapshot", get(api::get_snapshot))
        .route("/pulse", get(api::get_pulse))
        .route("/bead/{id}", get(api::get_bead))
        .route("/graph", get(api::get_graph))
        .route("/mail/{actor}", get(api::get_mail))
        .route("/findings", get(api::get_findings))
        .route("/search", get(api::get_search))
        .route("/stream", get(stream::get_stream))
        .route("/act", post(api::post_act))
        .layer(from_fn_with_state(shared.clone(), check_token));
    Router::new()
        .nest("/api", data)
        .fallback(get(assets::serve))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(from_fn_with_state(shared.clone(), check_site))
        .with_state(shared)
}

async fn check_token(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    match shared.gate.check_token(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => reply::refused(refusal),
    }
}

async fn check_site(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let mut reply = match shared.gate.check_site(request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => reply::refused(refusal),
    };
    for (name, value) in HEADERS {
        reply.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    reply
}

/// Returns the address to listen on.
fn listen_on(host: Option<&str>) -> Result<IpAddr, Failure> {
    let Some(host) = host else { return Ok(IpAddr::from([127, 0, 0, 1])) };
    let unknown =
        |why: String| Failure::invalid(format!("--host {host} is not an address of this machine: {why}"));
    let mut found =
        (host.trim_matches(['[', ']']), 0).to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
    let ip = found.next().map(|address| address.ip()).ok_or_else(|| unknown("no address".to_owned()))?;
    if ip.is_unspecified() {
        return Err(Failure::invalid(format!(
            "--host {host} stands for every address of this machine, so the board could not refuse requests for other \
             names; give the name or address that browsers will use"
        )));
    }
    Ok(ip)
}

fn cannot_listen(ip: IpAddr, port: u16, error: &std::io::Error) -> Failure {
    let address = SocketAddr::new(ip, port);
    Failure::new(Code::IoError, format!("cannot listen on {address}: {error}; choose another --port"))
}
