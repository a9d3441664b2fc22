//! Who is calling: bearer tokens, kept and compared as hashes in constant time.

use std::sync::Arc;

use countersign_contract::{Access, Caller, Code};
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use sha2::{Digest as _, Sha256};
use subtle::{ConditionallySelectable as _, ConstantTimeEq as _};

use crate::problem::Problem;

/// The callers that are known. Without tokens everybody who can connect is the same anonymous caller.
#[derive(Debug)]
pub struct Auth {
    anonymous: Option<Arc<Caller>>,
    tokens: Vec<Token>,
}

#[derive(Debug, Clone)]
pub struct Token {
    pub hash: TokenHash,
    pub caller: Arc<Caller>,
}

/// SHA-256 of a token. Tokens are random, so a fast hash is enough; nothing here can give the token back.
#[derive(Clone, Copy)]
pub struct TokenHash([u8; 32]);

impl Auth {
    pub fn new(tokens: Vec<Token>) -> Self {
        let anonymous = Caller { name: "anonymous".into(), access: Access::All, approver: false };
        Self { anonymous: tokens.is_empty().then(|| Arc::new(anonymous)), tokens }
    }

    pub(crate) fn authenticate(&self, headers: &HeaderMap) -> Result<Arc<Caller>, Problem> {
        if let Some(anonymous) = &self.anonymous {
            return Ok(Arc::clone(anonymous));
        }
        let presented = bearer(headers).ok_or_else(|| unauthorised("This server needs a bearer token"))?;
        self.find(&TokenHash::of(presented)).ok_or_else(|| unauthorised("The bearer token is not known"))
    }

    /// Looks at every token, so that the time taken tells nothing about which one was close.
    fn find(&self, presented: &TokenHash) -> Option<Arc<Caller>> {
        let mut found = u64::MAX;
        for (index, token) in (0_u64..).zip(&self.tokens) {
            found.conditional_assign(&index, token.hash.0.ct_eq(&presented.0));
        }
        let token = usize::try_from(found).ok().and_then(|index| self.tokens.get(index));
        token.map(|token| Arc::clone(&token.caller))
    }
}

impl TokenHash {
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token).into())
    }

    pub fn to_bytes(self) -> [u8; 32] {
        self.0
    }

    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl std::fmt::Debug for TokenHash {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("***")
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut presented = headers.get_all(AUTHORIZATION).iter();
    let (Some(header), None) = (presented.next(), presented.next()) else { return None };
    let (scheme, token) = header.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn unauthorised(error: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, Code::AccessDenied, error)
        .with_header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use countersign_contract::{Access, Caller};
    use http::HeaderMap;

    use super::{Auth, Token, TokenHash};

    #[test]
    fn a_token_gives_a_caller_and_nothing_else_does() {
        let auth = Auth::new(vec![token("ci", "first-token"), token("ops", "second-token")]);
        for (headers, caller) in [
            (&["Bearer first-token"][..], Some("ci")),
            (&["bearer second-token"], Some("ops")),
            (&["Bearer first-toke"], None),
            (&["Bearer "], None),
            (&["Basic first-token"], None),
            (&["first-token"], None),
            (&["Bearer first-token", "Bearer second-token"], None),
            (&[], None),
        ] {
            assert_eq!(authenticate(&auth, headers).as_deref(), caller, "{headers:?}");
        }
    }

    #[test]
    fn without_tokens_everybody_is_anonymous() {
        assert_eq!(authenticate(&Auth::new(Vec::new()), &["Bearer whatever"]).as_deref(), Some("anonymous"));
    }

    fn token(name: &str, token: &str) -> Token {
        let caller = Caller { name: name.into(), access: Access::All, approver: false };
        Token { hash: TokenHash::of(token), caller: Arc::new(caller) }
    }

    fn authenticate(auth: &Auth, values: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append("authorization", value.parse().unwrap());
        }
        auth.authenticate(&headers).ok().map(|caller| caller.name.to_string())
    }
}
