//! Waiting for better times: visible, bounded, and over at once when the person says so.

use std::time::Duration;

use jiff::{Timestamp, ToSpan};
use tokio::time::Instant;

use super::patience::Resilience;
use crate::engine::EngineError;
use crate::event::{Event, Sink};
use crate::human::Channel;
use crate::language::Language;
use crate::wire::Door;

/// Failures in a row, without a reply of the model between them.
#[derive(Debug, Default)]
pub(super) struct Streak {
    failures: u32,
    first: Option<Instant>,
}

impl Streak {
    /// So many failures, as somebody else counts them.
    pub(super) fn of(failures: u32, first: Instant) -> Self {
        Self { failures, first: Some(first) }
    }
}

/// Why nothing is tried again.
pub(super) enum GaveUp {
    /// Trying again does not help, or was tried often enough.
    Hopeless,
    /// The endpoint stayed out of reach; the sentence says how long was waited.
    Offline(String),
}

/// Waits by the rules of a [`Resilience`].
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) resilience: Resilience,
    /// What must be reachable; nothing where that cannot be asked.
    pub(super) door: Option<Door>,
    /// Who may say "now".
    pub(super) channel: Option<Channel>,
    pub(super) sink: Sink,
    pub(super) language: Language,
}

impl Waiting {
    /// Waits until trying again makes sense.
    pub(super) async fn outlast(
        &self,
        step: &str,
        error: &EngineError,
        streak: &mut Streak,
    ) -> Result<(), GaveUp> {
        streak.failures = streak.failures.saturating_add(1);
        let since = streak.first.get_or_insert_with(Instant::now).elapsed();
        let pause = self.resilience.pause(&error.fault, streak.failures, since);
        let pause = pause.ok_or(GaveUp::Hopeless)?;
        if self.until_reachable().await? {
            // It was the network, and it is back.
            return Ok(());
        }
        self.sink.tell(Event::Retry {
            step: step.to_owned(),
            attempt: streak.failures + 1,
            text: self.announcement(&error.message, pause),
        });
        self.sleep(pause).await;
        Ok(())
    }

    /// Waits for the endpoint's port to open (core.md N-8); true where it had to wait. Two pieces of news
    /// for each outage, however long it lasts.
    async fn until_reachable(&self) -> Result<bool, GaveUp> {
        let Some(door) = &self.door else { return Ok(false) };
        let began = Instant::now();
        let mut away = false;
        while !door.opens(self.resilience.probe_timeout).await {
            let longest = self.resilience.max_offline;
            let values = [("address", &*door.to_string()), ("time", &*self.length(longest))];
            if !away {
                away = true;
                self.tell_network("offline", &values);
            }
            let left = longest.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Err(GaveUp::Offline(self.language.text("runtime.gave_up", &values)));
            }
            self.sleep(self.resilience.probe_interval.min(left)).await;
        }
        if away {
            self.tell_network("online", &[("address", &door.to_string())]);
        }
        Ok(away)
    }

    fn tell_network(&self, state: &str, values: &[(&str, &str)]) {
        self.sink.tell(Event::Network {
            state: state.to_owned(),
            address: self.door.as_ref().map(ToString::to_string).unwrap_or_default(),
            text: self.language.text(&format!("runtime.{state}"), values),
        });
    }

    async fn sleep(&self, pause: Duration) {
        let hurried = async {
            match &self.channel {
                Some(channel) => channel.hurried().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = hurried => {}
        }
    }

    fn announcement(&self, reason: &str, pause: Duration) -> String {
        if pause < Duration::from_secs(600) {
            let seconds = format!("{:.0}", pause.as_secs_f64());
            return self
                .language
                .text("runtime.retry", &[("reason", reason), ("seconds", &seconds)]);
        }
        let seconds = i64::try_from(pause.as_secs()).unwrap_or(i64::MAX);
        let end = Timestamp::now().checked_add(seconds.seconds()).unwrap_or(Timestamp::MAX);
        let end = end.to_zoned_datetime(jiff::tz::TimeZone::system());
        let time = end.strftime("%Y-%m-%d %H:%M").to_string();
        self.language.text("runtime.retry_at", &[("reason", reason), ("time", &time)])
    }

    /// Minutes, or seconds below one.
    fn length(&self, time: Duration) -> String {
        let (key, number) = match time.as_secs() {
            seconds @ 0..60 => ("runtime.seconds", seconds),
            seconds => ("runtime.minutes", seconds / 60),
        };
        self.language.text(key, &[("number", &number.to_string())])
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::engine::Fault;
    use crate::human::ChannelOptions;

    fn waiting(resilience: Resilience, door: Option<&str>) -> (Waiting, Arc<Mutex<Vec<String>>>) {
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let notes = Arc::clone(&told);
        let waiting = Waiting {
            resilience,
            door: door.map(|url| Door::to(url, &crate::wire::Proxies::default()).unwrap()),
            channel: Some(Channel::new(ChannelOptions::default())),
            sink: Sink::new(move |event| {
                if let Event::Network { text, .. } | Event::Retry { text, .. } = event {
                    notes.lock().unwrap().push(text);
                }
            }),
            language: Language::English,
        };
        (waiting, told)
    }

    fn network() -> EngineError {
        EngineError::new(Fault::Network, "the connection broke")
    }

    #[tokio::test]
    async fn an_outage_is_two_pieces_of_news() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let probe_interval = Duration::from_millis(10);
        let quick = Resilience { probe_interval, ..Resilience::default() };
        let (waiting, told) = waiting(quick, Some(&format!("http://{address}")));
        let back = async {
            while told.lock().unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
            tokio::net::TcpListener::bind(address).await.unwrap()
        };
        let error = network();
        let mut streak = Streak::default();
        let (ended, _listener) = tokio::join!(waiting.outlast("work", &error, &mut streak), back);
        assert!(ended.is_ok());
        assert_eq!(
            *told.lock().unwrap(),
            [
                format!("{address} cannot be reached; waiting until it can (up to 60 min)"),
                format!("{address} can be reached again; going on")
            ]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_ever() {
        let quick = Resilience { max_offline: Duration::from_secs(30), ..Resilience::default() };
        let (waiting, told) = waiting(quick, Some("http://127.0.0.1:1"));
        let ended = waiting.outlast("work", &network(), &mut Streak::default()).await;
        let Err(GaveUp::Offline(text)) = ended else { panic!("it went on") };
        assert_eq!(text, "127.0.0.1:1 could not be reached for 30 s");
        assert_eq!(told.lock().unwrap().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_person_may_say_now() {
        let (waiting, told) = waiting(Resilience::default(), None);
        let begin = Instant::now();
        let fault = Fault::RateLimited { retry_after: Some(Duration::from_secs(7000)) };
        let error = EngineError::new(fault, "limit reached");
        let mut streak = Streak::default();
        let channel = waiting.channel.clone().unwrap();
        let hurry = async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            channel.hurry();
        };
        let (ended, ()) = tokio::join!(waiting.outlast("work", &error, &mut streak), hurry);
        assert!(ended.is_ok());
        assert_eq!(begin.elapsed().as_secs(), 5);
        assert!(told.lock().unwrap()[0].starts_with("limit reached; waiting until 2"), "{told:?}");
    }
}
