//! The HTTP server: listens, reads requests, lets answers be played, ends at once when told.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};

use super::cassette::Cassette;
use super::error::GateError;
use super::journal::Journal;
use super::play::{Answer, Body, body};
use super::reply::digest;
use super::route::{self, Outcome, Question};
use super::script::Script;

/// Bytes of a request's body; twice what the Messages API takes.
const MAX_BODY: usize = 64 << 20;

/// What a gate needs to start.
#[derive(Debug)]
pub struct GateOptions {
    /// Where to listen; port 0 picks a free one.
    pub listen: SocketAddr,
    /// What to play.
    pub cassette: Cassette,
    /// A file to append one JSON line to for each request.
    pub log: Option<PathBuf>,
}

/// The model endpoint that is built in.
#[derive(Debug)]
pub struct Gate;

/// A gate that listens. Dropping it ends it at once, with all its connections.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    script: Script,
    journal: Option<Journal>,
    failures: Mutex<Vec<String>>,
    requests: AtomicU64,
}

impl Gate {
    /// Starts to listen and returns; answers come from tasks of the current tokio runtime.
    ///
    /// # Errors
    ///
    /// [`GateError::InUse`], [`GateError::Listen`], [`GateError::Log`].
    pub async fn start(options: GateOptions) -> Result<Running, GateError> {
        let GateOptions { listen: address, cassette, log } = options;
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => GateError::InUse(address),
            _ => GateError::Listen { address, source },
        };
        let listener = listen(address).map_err(failed)?;
        let listener = TcpListener::from_std(listener).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let journal = match log {
            Some(path) => match Journal::open(&path) {
                Ok(journal) => Some(journal),
                Err(source) => return Err(GateError::Log { path, source }),
            },
            None => None,
        };
        let shared = Arc::new(Shared {
            script: Script::new(cassette),
            journal,
            failures: Mutex::default(),
            requests: AtomicU64::new(0),
        });
        let task = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Running { address, shared, task })
    }
}

impl Running {
    /// `http://127.0.0.1:PORT`, without a trailing slash: what a client takes for its base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where it listens, with the port that was picked.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// One sentence for each request that no rule matched, and for each line that the log lost.
    pub fn failures(&self) -> Vec<String> {
        self.shared.failures().clone()
    }

    /// Names of the rules that have not served, in file order.
    pub fn unused_rules(&self) -> Vec<String> {
        self.shared.script.unused()
    }

    /// Waits for an end that nobody asked for; it comes only where the gate has a defect.
    pub async fn wait(&mut self) {
        if !self.task.is_finished() {
            // How it ended makes no difference: it answers no more.
            let _ = (&mut self.task).await;
        }
    }

    /// Ends it: when this returns the port is free, and what was still being answered breaks off.
    pub async fn stop(mut self) {
        self.task.abort();
        self.wait().await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reuses the address of a gate that ended a moment ago, never that of one that still listens.
fn listen(address: SocketAddr) -> io::Result<StdListener> {
    let domain = socket2::Domain::for_address(address);
    let socket = socket2::Socket::new(domain, socket2::Type::STREAM, Some(socket2::Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(1024)?;
    Ok(socket.into())
}

/// Owns the connections, so that they end with it.
async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve(stream, Arc::clone(&shared)));
                }
                // Out of file descriptors, or a peer that left again: the next may work. The pause
                // keeps a lasting shortage from burning a core.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

type Answering = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    // Small events must leave at once; a socket that refuses this still works.
    let _ = stream.set_nodelay(true);
    let reset = Arc::new(Notify::new());
    let announce = Arc::clone(&reset);
    let service = service_fn(move |request| -> Answering {
        Box::pin(respond(Arc::clone(&shared), request, Arc::clone(&announce)))
    });
    // Without a timer, so that a client may keep a connection while its tools run for long.
    let mut connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let is_reset = tokio::select! {
        // First, so that what precedes a reset is written out before it.
        biased;
        // A peer that leaves in the middle is its own affair.
        _ = &mut connection => false,
        () = reset.notified() => true,
    };
    if is_reset {
        let stream = connection.into_parts().io.into_inner();
        // Closing with linger 0 sends RST instead of FIN.
        let _ = socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO));
    }
}

async fn respond(
    shared: Arc<Shared>,
    request: Request<Incoming>,
    reset: Arc<Notify>,
) -> Result<Response<Body>, Infallible> {
    let (head, incoming) = request.into_parts();
    let number = shared.requests.fetch_add(1, Ordering::Relaxed);
    let id = format!("req_{}", digest(&format!("request:{number}"), 24));
    let read = Limited::new(incoming, MAX_BODY).collect().await;
    let bytes = read.as_ref().map(|_| ()).map_err(|error| error.to_string());
    let content = read.map(|collected| collected.to_bytes()).unwrap_or_default();
    let answer = shared.answer(&head, &content, (&id, bytes));
    tokio::time::sleep(answer.delay).await;
    if answer.resets_at_once {
        reset.notify_one();
        std::future::pending::<()>().await;
    }
    Ok(build(answer, reset))
}

fn build(answer: Answer, reset: Arc<Notify>) -> Response<Body> {
    let mut response = Response::new(body(answer.beats, answer.ping, reset));
    // Cassettes are checked on load, and the gate's own names and values are plain.
    if let Ok(status) = hyper::StatusCode::from_u16(answer.status) {
        *response.status_mut() = status;
    }
    for (name, value) in answer.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

impl Shared {
    fn answer(
        &self,
        head: &hyper::http::request::Parts,
        body: &Bytes,
        (id, read): (&str, Result<(), String>),
    ) -> Answer {
        let json: Option<Value> = serde_json::from_slice(body).ok();
        let question = Question {
            method: &head.method,
            path: head.uri.path(),
            headers: &head.headers,
            body,
            json: json.as_ref(),
            id,
        };
        let outcome: Outcome = match read {
            Ok(()) => route::answer(&self.script, &question),
            Err(message) if message.contains("length limit") => {
                route::refuse(&question, 413, "the request body is larger than 64 MiB")
            }
            Err(message) => {
                let message = format!("the request body could not be read: {message}");
                route::refuse(&question, 400, &message)
            }
        };
        let mut failures = self.failures();
        failures.extend(outcome.failure.clone());
        if let Some(journal) = &self.journal
            && let Err(error) = journal.write(&question, head.uri.query(), &outcome)
        {
            failures.push(format!("the log could not be written: {error}"));
        }
        outcome.answer
    }

    fn failures(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
