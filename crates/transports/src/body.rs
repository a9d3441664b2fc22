//! Reading a JSON body from somebody we do not trust: declared type, bounded size, bounded time, strict syntax.

use std::error::Error;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use countersign_contract::{Code, parse_json};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use serde_json::Value;

use crate::problem::Problem;

/// A body of the largest size arrives in this time over any line that is fit for use.
const BODY_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) async fn read_json(headers: &HeaderMap, body: Incoming, max_body: usize) -> Result<Value, Problem> {
    let bytes = read(headers, body, max_body).await?;
    parse_json(&bytes).map_err(|malformed| {
        let error = format!("The body is not valid JSON: {malformed}");
        Problem::new(StatusCode::BAD_REQUEST, Code::ValidationError, error)
    })
}

/// A page can send other types across origins without asking first; JSON it cannot.
fn is_json(headers: &HeaderMap) -> bool {
    let mut declared = headers.get_all(CONTENT_TYPE).iter();
    let (Some(kind), None) = (declared.next(), declared.next()) else { return false };
    let essence = kind.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

pub(crate) async fn read(headers: &HeaderMap, body: Incoming, max_body: usize) -> Result<Bytes, Problem> {
    let unsupported = |error: &str| Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, Code::UnsupportedType, error);
    if !is_json(headers) {
        return Err(unsupported("The Content-Type must be application/json"));
    }
    if headers.contains_key(CONTENT_ENCODING) {
        return Err(unsupported("The body must not be compressed"));
    }
    let too_large = || {
        let error = format!("The body is larger than {max_body} bytes");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, Code::TooLarge, error)
    };
    let declared = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|length| length > max_body as u64) {
        return Err(too_large());
    }
    match tokio::time::timeout(BODY_TIMEOUT, collect(Limited::new(body, max_body))).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => {
            Err(Problem::new(StatusCode::BAD_REQUEST, Code::ValidationError, "The body broke off or is malformed"))
        }
        Err(_) => {
            let error = format!("The body did not arrive within {BODY_TIMEOUT:?}");
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, Code::Timeout, error))
        }
    }
}

/// A small body is one frame, which is taken as it is; only a longer one is copied together.
async fn collect(mut body: Limited<Incoming>) -> Result<Bytes, Box<dyn Error + Send + Sync>> {
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        if first.is_empty() && all.is_empty() {
            first = data;
        } else {
            all.extend_from_slice(&std::mem::take(&mut first));
            all.extend_from_slice(&data);
        }
    }
    Ok(if all.is_empty() { first } else { all.freeze() })
}
