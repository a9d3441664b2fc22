//! Lines of the log file tell an error with everything that led to it. The usual format writes an error's own words and
//! leaves out its sources, so that a file "cannot be written" without a reason.

use std::error::Error;
use std::fmt;

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// Another format of JSON lines, with causes.
#[derive(Debug)]
pub(super) struct WithCauses<F>(pub(super) F);

impl<S, N, F> FormatEvent<S, N> for WithCauses<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(&self, ctx: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut caused = Caused::default();
        event.record(&mut caused);
        if caused.0.is_empty() {
            return self.0.format_event(ctx, writer, event);
        }
        let mut line = String::new();
        self.0.format_event(ctx, Writer::new(&mut line), event)?;
        for (told, whole) in caused.0 {
            line = line.replacen(&told, &whole, 1);
        }
        writer.write_str(&line)
    }
}

/// Members of the line as they are written, and as they should be. In a text of JSON each quotation mark has a backslash
/// before it, so they are found as members only.
#[derive(Default)]
struct Caused(Vec<(String, String)>);

impl Visit for Caused {
    fn record_error(&mut self, field: &Field, error: &(dyn Error + 'static)) {
        let member = |text: String| format!("\"{}\":{}", field.name(), serde_json::Value::String(text));
        if error.source().is_some() {
            self.0.push((member(error.to_string()), member(chain(error))));
        }
    }

    fn record_debug(&mut self, _field: &Field, _value: &dyn fmt::Debug) {}
}

/// On one line. Some libraries repeat the cause in their own words.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.ends_with(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use serde_json::{Value, json};
    use tracing_subscriber::fmt::format;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::WithCauses;

    #[derive(Debug, thiserror::Error)]
    enum Failed {
        #[error("the \"file\" cannot be written")]
        Io(#[source] io::Error),
        #[error("not kept: {0}")]
        Repeated(#[source] Box<Self>),
        #[error("nobody wants it")]
        Alone,
    }

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_error_is_told_with_its_causes() {
        let full = || Failed::Io(io::Error::other("no \"space\"\nis left"));
        for (error, told) in [
            (full(), "the \"file\" cannot be written: no \"space\"\nis left"),
            (Failed::Repeated(Box::new(full())), "not kept: the \"file\" cannot be written: no \"space\"\nis left"),
            (Failed::Alone, "nobody wants it"),
        ] {
            let line = logged(|| {
                let error: &(dyn Error + 'static) = &error;
                tracing::warn!(path = "\"error\":\"the", error, again = error, number = 7, "not written");
            });
            for (key, value) in [
                ("error", json!(told)),
                ("again", json!(told)),
                ("path", json!("\"error\":\"the")),
                ("number", json!(7)),
                ("message", json!("not written")),
                ("level", json!("WARN")),
            ] {
                assert_eq!(line[key], value, "{line}");
            }
        }
    }

    fn logged(say: impl FnOnce()) -> Value {
        let lines = Lines::default();
        let writer = lines.clone();
        let format = WithCauses(format().json().flatten_event(true));
        let layer = tracing_subscriber::fmt::layer().json().event_format(format).with_writer(move || writer.clone());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), say);
        let text = lines.0.lock().unwrap().clone();
        assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), 1);
        serde_json::from_slice(&text).unwrap()
    }
}
