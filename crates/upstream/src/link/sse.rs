//! Server-sent events, as they come in pieces. <https://html.spec.whatwg.org/multipage/server-sent-events.html>

use std::time::Duration;

use super::{LinkError, MESSAGE_MAX};

/// Lines of one event beside its data; who writes more says nothing with them.
const HEAD_MAX: u32 = 8;

#[derive(Debug, Default)]
pub(super) struct Events {
    /// What is not a whole line yet, and has no end in it.
    rest: Vec<u8>,
    /// Lines of the event that have no data in them.
    head: u32,
    /// Lines that said nothing, since somebody asked.
    idle: u32,
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
        let (mut complete, mut piece) = (Vec::new(), piece);
        while let Some(end) = memchr::memchr(b'\n', piece) {
            let mut line = std::mem::take(&mut self.rest);
            line.extend_from_slice(&piece[..end]);
            piece = &piece[end + 1..];
            self.line(line.strip_suffix(b"\r").unwrap_or(&line), &mut complete);
        }
        self.rest.extend_from_slice(piece);
        Ok(complete)
    }

    /// How many lines said nothing since this was last asked.
    pub(super) fn take_idle(&mut self) -> u32 {
        std::mem::take(&mut self.idle)
    }

    fn line(&mut self, line: &[u8], complete: &mut Vec<Vec<u8>>) {
        if line.is_empty() {
            self.last_id = self.id.take().or_else(|| self.last_id.take());
            let data = std::mem::take(&mut self.data);
            self.head = 0;
            if data.is_empty() {
                self.idle += 1;
            } else {
                complete.push(data);
            }
            return;
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(end) => (&line[..end], line[end + 1..].strip_prefix(b" ").unwrap_or(&line[end + 1..])),
            None => (line, &[][..]),
        };
        if field != b"data" || (value.is_empty() && self.data.is_empty()) {
            self.head = self.head.saturating_add(1);
            self.idle += u32::from(self.head > HEAD_MAX);
        }
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
    use std::time::{Duration, Instant};

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
        assert_eq!((events.last_id.as_deref(), events.retry), (Some("7"), Some(Duration::from_millis(500))));
        events.feed(b"data: x\n\ndata: y\n\n").unwrap();
        assert_eq!(events.last_id.as_deref(), Some("8"), "one without an id changes nothing");
    }

    #[test]
    fn lines_that_say_nothing_are_counted() {
        let usual = b": hello\nevent: message\nid: 7\ndata: {\ndata: }\n\n".repeat(100);
        let mut events = Events::default();
        assert_eq!((events.feed(&usual).unwrap().len(), events.take_idle()), (100, 0));
        for line in ["\n", ": x\n", "data:\n", "id: 7\n", "\r\n", "x\n", "event: x\ndata:\n\n"] {
            events.feed(line.repeat(1000).as_bytes()).unwrap();
            assert!(events.take_idle() > 900, "{line:?}");
            events.feed(b"data: x\n\n").unwrap();
            events.take_idle();
        }
    }

    /// Each piece is looked at once, however long the line is that it belongs to.
    #[test]
    fn a_long_line_in_small_pieces_takes_no_longer() {
        let begun = Instant::now();
        let mut events = Events::default();
        events.feed(b"data: ").unwrap();
        events.feed(&vec![b'x'; 4 * 1024 * 1024]).unwrap();
        for _ in 0..20_000 {
            events.feed(b"x").unwrap();
        }
        assert_eq!(events.feed(b"\n\n").unwrap()[0].len(), 4 * 1024 * 1024 + 20_000);
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    }

    #[test]
    fn an_event_without_an_end_is_given_up() {
        let mut events = Events::default();
        let piece = vec![b'x'; 1024 * 1024];
        assert!((0..20).any(|_| events.feed(&piece).is_err()));
    }
}
