//! What a code means outside: its HTTP status and its exit code, each in one `match`.

use countersign_contract::{Code, Failure, Storage};
use http::StatusCode;

/// How a command ended, for scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    Ok = 0,
    Usage = 1,
    NotAuthorised = 3,
    Unreachable = 4,
    ToolError = 5,
    Contract = 6,
    Interrupted = 130,
}

pub fn http_status(failure: Failure) -> StatusCode {
    match failure.code {
        Code::IoError if failure.storage == Storage::Full => StatusCode::INSUFFICIENT_STORAGE,
        Code::ApprovalRequired => StatusCode::ACCEPTED,
        Code::ValidationError => StatusCode::BAD_REQUEST,
        Code::AccessDenied | Code::ApprovalDenied => StatusCode::FORBIDDEN,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Code::UnsupportedType | Code::EncodingError => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Code::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        Code::InternalError | Code::IoError => StatusCode::INTERNAL_SERVER_ERROR,
        Code::NetworkError | Code::UpstreamError | Code::ContractViolation => StatusCode::BAD_GATEWAY,
        Code::Unavailable | Code::DatabaseError => StatusCode::SERVICE_UNAVAILABLE,
        Code::Timeout => StatusCode::GATEWAY_TIMEOUT,
    }
}

pub fn exit_code(code: Code) -> ExitCode {
    match code {
        Code::ContractViolation => ExitCode::Contract,
        Code::ApprovalRequired | Code::ApprovalDenied => ExitCode::NotAuthorised,
        Code::Unavailable => ExitCode::Unreachable,
        Code::ValidationError
        | Code::NotFound
        | Code::AccessDenied
        | Code::TooLarge
        | Code::EncodingError
        | Code::UnsupportedType
        | Code::IoError
        | Code::RateLimited
        | Code::NetworkError
        | Code::UpstreamError
        | Code::Timeout
        | Code::DatabaseError
        | Code::InternalError => ExitCode::ToolError,
    }
}
