//! What a path names, and which methods it takes. A `match` and not a table of boxed handlers: the paths are few, and
//! looking one up for every call should cost nothing.

use http::Method;

/// One of the paths that are served; a tool's name is whatever stands there, known or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route<'a> {
    /// MCP over Streamable HTTP.
    Mcp,
    /// `/v1/tools/{tool}`: arguments and result in an envelope.
    Tool(&'a str),
    /// `/mcp/tool/{tool}`: arguments and result bare.
    BareTool(&'a str),
    Tools,
    /// `/v1/ask`: a question in words.
    Ask,
    /// `/v1/approvals`: the calls that wait for a person.
    Approvals,
    /// `/v1/approvals/{id}`.
    Approval(&'a str),
    /// `/v1/servers`: how upstream servers do.
    Servers,
    Stats,
    OpenApi,
    Metrics,
    Healthz,
    Readyz,
}

impl<'a> Route<'a> {
    pub(super) fn of(path: &'a str) -> Option<Self> {
        // A tool's name needs no escaping, so what is escaped is no tool's name.
        let segment = |prefix: &str| path.strip_prefix(prefix).filter(|name| !name.is_empty() && !name.contains('/'));
        if let Some(tool) = segment("/v1/tools/") {
            return Some(Self::Tool(tool));
        }
        if let Some(tool) = segment("/mcp/tool/") {
            return Some(Self::BareTool(tool));
        }
        if let Some(id) = segment("/v1/approvals/") {
            return Some(Self::Approval(id));
        }
        match path {
            "/v1/approvals" => Some(Self::Approvals),
            "/mcp" => Some(Self::Mcp),
            "/v1/ask" => Some(Self::Ask),
            "/v1/tools" => Some(Self::Tools),
            "/v1/servers" => Some(Self::Servers),
            "/v1/stats" => Some(Self::Stats),
            "/openapi.json" => Some(Self::OpenApi),
            "/metrics" => Some(Self::Metrics),
            "/healthz" => Some(Self::Healthz),
            "/readyz" => Some(Self::Readyz),
            _ => None,
        }
    }

    /// For supervisors, which have no token.
    pub(super) fn is_open(self) -> bool {
        matches!(self, Self::Healthz | Self::Readyz)
    }

    /// As the `Allow` header lists them.
    pub(super) fn methods(self) -> &'static str {
        match self {
            Self::Tool(_) | Self::Approval(_) => "GET,HEAD,POST",
            Self::Mcp => "DELETE,GET,POST",
            Self::BareTool(_) | Self::Ask => "POST",
            Self::Tools
            | Self::Approvals
            | Self::Servers
            | Self::Stats
            | Self::OpenApi
            | Self::Metrics
            | Self::Healthz
            | Self::Readyz => "GET,HEAD",
        }
    }

    pub(super) fn takes(self, method: &Method) -> bool {
        self.methods().split(',').any(|allowed| allowed == method.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Route;

    #[test]
    fn a_path_names_one_route_or_none() {
        for (path, route) in [
            ("/v1/ask", Some(Route::Ask)),
            ("/v1/tools", Some(Route::Tools)),
            ("/v1/tools/hello", Some(Route::Tool("hello"))),
            ("/v1/tools/h%65llo", Some(Route::Tool("h%65llo"))),
            ("/mcp/tool/hello", Some(Route::BareTool("hello"))),
            ("/readyz", Some(Route::Readyz)),
            ("/v1/servers", Some(Route::Servers)),
            ("/v1/approvals", Some(Route::Approvals)),
            ("/v1/approvals/abc", Some(Route::Approval("abc"))),
            ("/v1/approvals/", None),
            ("/v1/tools/", None),
            ("/v1/tools/a/b", None),
            ("/v1/tools/hello/", None),
            ("/mcp/tool/", None),
            ("/healthz/", None),
            ("/", None),
            ("*", None),
        ] {
            assert_eq!(Route::of(path), route, "{path}");
        }
    }
}
