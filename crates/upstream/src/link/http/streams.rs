//! Streams of events that break: they are taken up where they ended, when the server wants it.

use std::time::Duration;

use http::StatusCode;
use http::header::{ACCEPT, HeaderName, HeaderValue};
use tokio::sync::Notify;

use super::super::sse::Events;
use super::super::{LinkError, Message, parse};
use super::client::Response;
use super::{EVENTS, SESSION, Shared, VERSION, kind};

const LAST_EVENT: &str = "last-event-id";

/// Where the server does not say how long to wait.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// A stream ends with its answer, or is of no more use.
const ENDING: Duration = Duration::from_secs(1);

/// How often in a row an answer is looked for without anything coming.
const ATTEMPTS_MAX: u32 = 5;

impl Shared {
    /// The answer to a request, which may come in several streams.
    pub(super) async fn answer_in(&self, response: Response, id: Option<u64>) -> Result<Option<Message>, LinkError> {
        let (mut events, mut attempts) = (Events::default(), 0);
        let mut ended = self.take_all(response, &mut events, id).await;
        loop {
            // A break is no end, as long as one can come back to where it was.
            match (&ended, &events.last_id) {
                (Ok(Some(_)) | Err(LinkError::Garbled(_) | LinkError::TooMuch(_)), _) | (_, None) => return ended,
                (Ok(None) | Err(_), Some(_)) if id.is_none() || attempts == ATTEMPTS_MAX => return ended,
                (Ok(None) | Err(_), Some(_)) => {}
            }
            tokio::time::sleep(events.retry.unwrap_or(PAUSE).min(LONGEST_PAUSE)).await;
            let before = events.last_id.clone();
            ended = match self.get(before.as_deref()).await {
                Ok(response) => self.take_all(response, &mut events, id).await,
                Err(error) => Err(error),
            };
            attempts = if events.last_id == before { attempts + 1 } else { 0 };
        }
    }

    /// What belongs to no request. A server that has no such stream says so. `answered` hears when it is there, or is not.
    pub(super) async fn listen(&self, answered: &Notify) {
        let (mut events, mut was_there) = (Events::default(), false);
        loop {
            let answer = self.get(events.last_id.as_deref()).await;
            answered.notify_one();
            match answer {
                Ok(response) => {
                    was_there = true;
                    // It may break at any time.
                    drop(self.take_all(response, &mut events, None).await);
                }
                Err(LinkError::Status(404)) if was_there => {
                    self.noted(LinkError::Forgotten);
                    return;
                }
                Err(LinkError::Status(status)) => {
                    tracing::debug!(server = self.surroundings.server, status, "no stream of its own");
                    return;
                }
                Err(_) => {}
            }
            tokio::time::sleep(events.retry.unwrap_or(PAUSE).clamp(PAUSE, LONGEST_PAUSE)).await;
        }
    }

    async fn get(&self, last_id: Option<&str>) -> Result<Response, LinkError> {
        let mut headers = self.headers.clone();
        headers.insert(ACCEPT, HeaderValue::from_static(EVENTS));
        let agreed = self.agreed();
        let last_id = last_id.and_then(|id| id.parse().ok());
        for (name, value) in [(VERSION, agreed.version), (SESSION, agreed.session), (LAST_EVENT, last_id)] {
            headers.extend(value.map(|value| (HeaderName::from_static(name), value)));
        }
        let response = self.client.get(headers).await.map_err(|error| self.noted(error))?;
        if response.status == StatusCode::OK && kind(&response) == EVENTS {
            Ok(response)
        } else {
            Err(LinkError::Status(response.status.as_u16()))
        }
    }

    async fn take_all(
        &self,
        mut response: Response,
        events: &mut Events,
        id: Option<u64>,
    ) -> Result<Option<Message>, LinkError> {
        while let Some(piece) = response.next_piece().await? {
            for data in events.feed(&piece)? {
                // A stream that was taken up again need not end.
                if let Some(answer) = self.answer_or_hear(parse(&data)?, id).await {
                    self.let_end(response);
                    return Ok(Some(answer));
                }
            }
            if let Some(pause) = self.surroundings.listener.hear_nothing(events.take_idle()) {
                tokio::time::sleep_until(pause).await;
            }
        }
        Ok(None)
    }

    /// What comes after an answer is for nobody, but a stream that ends leaves its connection to others.
    fn let_end(&self, mut response: Response) {
        let ended = self.surroundings.ended.clone();
        self.surroundings.tasks.spawn(async move {
            let ending = async { while let Ok(Some(_)) = response.next_piece().await {} };
            tokio::select! {
                () = ending => {}
                () = tokio::time::sleep(ENDING) => {}
                () = ended.cancelled() => {}
            }
        });
    }
}
