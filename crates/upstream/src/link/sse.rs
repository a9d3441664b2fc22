//! Server-sent events, as they come in pieces. <https://html.spec.whatwg.org/multipage/server-sent-events.html>

use std::time::Duration;

use super::{LinkError, MESSAGE_MAX};

#[derive(Debug, Default)]
pub(super) struct Events {
    /// What is not a whole line yet.
    rest: Vec<u8>,
    data: Vec<u8>,
    id: Option<String>,
    /// Of the last event that is complete: where to go on after a break.
    pub(super) last_id: Option<String>,
    /// How long the server wants to be left alone after a break.
    pub(super) retry: Option<Duration>,
}

impl Events {
    /// Takes a piece, and gives the data of every event that it completes.
    pub(super) fn feed(&mut self, piece: &[u8]) -> Result<Vec<Vec<u8>>, LinkError> {
        if self.rest.len() + self.data.len() + piece.len() > MESSAGE_MAX {
            return Err(LinkError::Garbled(format!("a message of more than {MESSAGE_MAX} bytes")));
        }
        self.rest.extend_from_slice(piece);
        let mut complete = Vec::new();
        let mut start = 0;
        while let Some(length) = self.rest[start..].iter().position(|byte| *byte == b'\n') {
            let line = self.rest[start..start + length].to_vec();
            start += length + 1;
            self.line(line.strip_suffix(b"\r").unwrap_or(&line), &mut complete);
        }
        self.rest.drain(..start);
        Ok(complete)
    }

    fn line(&mut self, line: &[u8], complete: &mut Vec<Vec<u8>>) {
        if line.is_empty() {
            self.last_id = self.id.take().or_else(|| self.last_id.take());
            let data = std::mem::take(&mut self.data);
            if !data.is_empty() {
                complete.push(data);
            }
            return;
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(end) => (&line[..end], line[end + 1..].strip_prefix(b" ").unwrap_or(&line[end + 1..])),
            None => (line, &[][..]),
        };
        match field {
            b"data" => {
                if !self.data.is_empty() {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            b"id" if !value.contains(&0) => self.id = String::from_utf8(value.to_vec()).ok(),
            b"retry" => {
                let milliseconds = str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                self.retry = milliseconds.map(Duration::from_millis).or(self.retry);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Events;

    #[test]
    fn events_come_in_any_pieces() {
        let stream = b": hello\r\nid: 7\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\nevent: x\ndata:2\n\ndata: 3\n";
        for size in 1..stream.len() {
            let mut events = Events::default();
            let complete: Vec<_> =
                stream.chunks(size).flat_map(|piece| events.feed(piece).unwrap()).map(String::from_utf8).collect();
            let complete: Vec<_> = complete.into_iter().map(Result::unwrap).collect();
            assert_eq!(complete, ["{\"a\":\n1}", "2"], "{size}");
        }
    }

    #[test]
    fn where_to_go_on_and_when_is_remembered() {
        let mut events = Events::default();
        assert!(events.feed(b"id: 7\nretry: 500\ndata: \n\nid: 8\n").unwrap().is_empty());
        assert_eq!((events.last_id.as_deref(), events.retry), (Some("7"), Some(std::time::Duration::from_millis(500))));
        events.feed(b"data: x\n\ndata: y\n\n").unwrap();
        assert_eq!(events.last_id.as_deref(), Some("8"), "one without an id changes nothing");
    }

    #[test]
    fn an_event_without_an_end_is_given_up() {
        let mut events = Events::default();
        let piece = vec![b'x'; 1024 * 1024];
        assert!((0..20).any(|_| events.feed(&piece).is_err()));
    }
}
