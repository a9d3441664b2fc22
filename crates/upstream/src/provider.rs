//! The resources and prompts of all servers that are connected, as our own clients see them.
//!
//! A caller that may use only some tools was given nothing else: these are not for it.

mod terms;

use std::sync::Arc;

use countersign_contract::{
    Access, BoxFuture, CallContext, Caller, Code, Contract, Offers, Prompt, PromptText, Provider, Rejection, Resource,
    ResourceContents, ResourceTemplate, Subject, ToolError, Wanted, Watching,
};
use serde_json::{Map, Value};

use crate::fleet::Fleet;
use crate::keeper::Line;
use crate::offered::{self, Offered};

impl Fleet {
    fn offered_to(&self, caller: &Caller) -> Vec<Arc<Offered>> {
        let lines = if caller.access == Access::All { self.lines() } else { Vec::new() };
        lines.iter().map(|line| line.offered()).collect()
    }

    /// The server that has this resource, and its own name for it. A template may have it, too.
    fn find_resource<'u>(&self, caller: &Caller, uri: &'u str) -> Option<(Arc<Line>, &'u str)> {
        if caller.access != Access::All {
            return None;
        }
        self.lines().into_iter().find_map(|line| {
            let own = line.spec().own_uri(uri)?;
            let offered = line.offered();
            let listed = offered.resources.iter().any(|resource| resource.uri == uri);
            let could_be = offered.templates.iter().any(|template| could_match(&template.uri_template, uri));
            (listed || could_be).then_some((line, own))
        })
    }

    fn find_prompt(&self, caller: &Caller, name: &str) -> Option<(Arc<Line>, String)> {
        if caller.access != Access::All {
            return None;
        }
        self.lines().into_iter().find_map(|line| {
            let own = line.spec().own_name(name)?.to_owned();
            line.offered().prompts.iter().any(|prompt| prompt.name == name).then_some((line, own))
        })
    }
}

/// What stands before the first variable has to stand there; the rest is for the server to look at.
fn could_match(template: &str, uri: &str) -> bool {
    template.split('{').next().is_some_and(|fixed| uri.starts_with(fixed))
}

impl Provider for Fleet {
    fn offers(&self) -> Offers {
        let lines = self.lines();
        let any = |has: fn(&Offered) -> bool| lines.iter().any(|line| has(&line.offered()));
        let resources = any(|offered| !offered.resources.is_empty() || !offered.templates.is_empty());
        Offers {
            resources,
            resource_updates: resources,
            prompts: any(|offered| !offered.prompts.is_empty()),
            completions: any(|offered| offered.completes),
            messages: !lines.is_empty(),
        }
    }

    fn resources(&self, caller: &Caller) -> Vec<Resource> {
        self.offered_to(caller).iter().flat_map(|offered| offered.resources.clone()).collect()
    }

    fn templates(&self, caller: &Caller) -> Vec<ResourceTemplate> {
        self.offered_to(caller).iter().flat_map(|offered| offered.templates.clone()).collect()
    }

    fn read<'a>(
        &'a self,
        ctx: &'a CallContext,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Vec<ResourceContents>, ToolError>> {
        Box::pin(async move {
            let (line, own) = self.find_resource(&ctx.caller, uri).ok_or_else(|| not_found(uri))?;
            offered::read(&line.spec(), &line.connected()?, ctx, own).await
        })
    }

    fn prompts(&self, caller: &Caller) -> Vec<Prompt> {
        self.offered_to(caller).iter().flat_map(|offered| offered.prompts.clone()).collect()
    }

    fn prompt<'a>(
        &'a self,
        ctx: &'a CallContext,
        name: &'a str,
        arguments: Map<String, Value>,
    ) -> BoxFuture<'a, Result<PromptText, ToolError>> {
        Box::pin(async move {
            let found = self.find_prompt(&ctx.caller, name);
            let (line, own) = found.ok_or_else(|| Rejection::new(Code::NotFound, format!("Unknown prompt: {name}")))?;
            offered::prompt(&line.spec(), &line.connected()?, ctx, &own, &arguments).await
        })
    }

    fn complete<'a>(
        &'a self,
        caller: &'a Caller,
        subject: &'a Subject,
        argument: &'a str,
        begun: &'a str,
    ) -> BoxFuture<'a, Vec<String>> {
        Box::pin(async move {
            let found = match subject {
                Subject::Prompt(name) => self.find_prompt(caller, name).map(|(line, own)| (line, Subject::Prompt(own))),
                Subject::Template(uri) => {
                    self.find_resource(caller, uri).map(|(line, own)| (line, Subject::Template(own.to_owned())))
                }
            };
            let Some((line, own)) = found.filter(|(line, _)| line.offered().completes) else { return Vec::new() };
            match line.session() {
                Some(session) => offered::complete(&session, &own, argument, begun).await,
                None => Vec::new(),
            }
        })
    }

    fn watch<'a>(&'a self, caller: &'a Caller, uri: &'a str) -> BoxFuture<'a, Result<Watching, ToolError>> {
        Box::pin(async move {
            let (line, own) = self.find_resource(caller, uri).ok_or_else(|| not_found(uri))?;
            let watching = line.watched().add(own).ok_or_else(|| {
                Rejection::new(Code::Unavailable, format!("Too many resources of `{}` are watched", line.name()))
            })?;
            // One that is not there is told when it is.
            if let Some(session) = line.session() {
                session.tells_of(own).await;
            }
            Ok(watching)
        })
    }

    fn terms(&self, caller: &Caller, wanted: Wanted<'_>) -> Option<Arc<Contract>> {
        let line = match wanted {
            Wanted::Resource(uri) => self.find_resource(caller, uri)?.0,
            Wanted::Prompt(name) => self.find_prompt(caller, name)?.0,
        };
        terms::terms(&line.spec(), wanted).map(Arc::new)
    }
}

fn not_found(uri: &str) -> Rejection {
    Rejection::new(Code::NotFound, format!("Resource not found: {uri}"))
}
