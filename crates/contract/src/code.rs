//! The one list of ways in which a call can fail.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Stable across versions and wires; `transports::wire` gives each its HTTP status and exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Code {
    ValidationError,
    NotFound,
    AccessDenied,
    TooLarge,
    EncodingError,
    UnsupportedType,
    IoError,
    RateLimited,
    ApprovalRequired,
    ApprovalDenied,
    NetworkError,
    UpstreamError,
    ContractViolation,
    Unavailable,
    Timeout,
    DatabaseError,
    InternalError,
}

impl Code {
    /// In the order in which documents list them.
    pub const ALL: [Self; 17] = [
        Self::ValidationError,
        Self::NotFound,
        Self::AccessDenied,
        Self::TooLarge,
        Self::EncodingError,
        Self::UnsupportedType,
        Self::IoError,
        Self::RateLimited,
        Self::ApprovalRequired,
        Self::ApprovalDenied,
        Self::NetworkError,
        Self::UpstreamError,
        Self::ContractViolation,
        Self::Unavailable,
        Self::Timeout,
        Self::DatabaseError,
        Self::InternalError,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::ValidationError => "VALIDATION_ERROR",
            Self::NotFound => "NOT_FOUND",
            Self::AccessDenied => "ACCESS_DENIED",
            Self::TooLarge => "TOO_LARGE",
            Self::EncodingError => "ENCODING_ERROR",
            Self::UnsupportedType => "UNSUPPORTED_TYPE",
            Self::IoError => "IO_ERROR",
            Self::RateLimited => "RATE_LIMITED",
            Self::ApprovalRequired => "APPROVAL_REQUIRED",
            Self::ApprovalDenied => "APPROVAL_DENIED",
            Self::NetworkError => "NETWORK_ERROR",
            Self::UpstreamError => "UPSTREAM_ERROR",
            Self::ContractViolation => "CONTRACT_VIOLATION",
            Self::Unavailable => "UNAVAILABLE",
            Self::Timeout => "TIMEOUT",
            Self::DatabaseError => "DATABASE_ERROR",
            Self::InternalError => "INTERNAL_ERROR",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Code;

    #[test]
    fn the_word_on_the_wire_is_the_word_in_the_list() {
        for code in Code::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }
}
