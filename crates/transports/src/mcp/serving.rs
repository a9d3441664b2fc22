//! The methods of MCP, each in a few lines: find out who asks, ask the gate or the provider, say it in MCP.

use std::sync::{Arc, PoisonError};

use countersign_contract::{Client, Offers, Progress, ProgressUpdate, Severity, Wanted};
use countersign_host::{Call, NoAnswer, Wire};
use rmcp::RoleServer;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestMethod, CallToolRequestParams, CallToolResponse, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, CompletionInfo, ConstString, CustomRequest, CustomResult, ErrorCode,
    ErrorData, GetPromptRequestMethod, GetPromptRequestParams, GetPromptResponse, Implementation, InputResponses,
    ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesRequestMethod, ListResourceTemplatesResult,
    ListResourcesRequestMethod, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ReadResourceRequestMethod, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ServerConfig, SubscribeRequestParams, SubscriptionFilter, SubscriptionsListenRequestMethod,
    Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::asking::{Binding, PeerSide};
use super::lending::Had;
use super::{Endpoint, INSTRUCTIONS, translate};
use crate::problem::shown;

/// How long a client may go by a list without looking again. It is told of changes, too.
const LIST_LIFETIME_MS: u64 = 60_000;

/// Reports of progress that wait for a slow client; more are dropped, since the next one says it all.
const PROGRESS_KEPT: usize = 16;

/// No list of values to complete with may be longer, says the protocol.
const MAX_COMPLETIONS: usize = 100;

impl ServerHandler for Endpoint {
    fn get_info(&self) -> ServerConfig {
        let server = Implementation::new("countersign", env!("CARGO_PKG_VERSION")).with_title("Countersign");
        ServerConfig::new(translate::capabilities(self.shared.provider.offers()))
            .with_server_info(server)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        one_page(request)?;
        let tools = self.shared.listed().visible_to(&self.caller(&context));
        Ok(ListToolsResult { tools, ..ListToolsResult::default() }
            .with_ttl_ms(LIST_LIFETIME_MS)
            .with_cache_scope(CacheScope::Private))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.shared.listed().get(name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = self.caller(&context);
        let tool = request.name.into_owned();
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let binding = |arguments: &Value| Binding::new(&caller.name, CallToolRequestMethod::VALUE, &tool, arguments);
        let state = self.shared.seals.open(request.request_state.as_deref(), || binding(&arguments))?;
        let (asked_with, peer) = (arguments.clone(), context.peer.clone());
        let (call, reports) = self.call(tool.clone(), arguments, context, request.input_responses, state);
        match self.with_reports(self.shared.gate.call(call), reports, &peer).await {
            Ok(answer) => translate::tool_result(answer.reply).map(CallToolResponse::from),
            Err(NoAnswer::InputRequired(required)) => {
                Ok(self.shared.seals.input_required(&required, &binding(&asked_with))?.into())
            }
            Err(reason) => Err(translate::no_answer(&reason, &tool)),
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.offered::<ListResourcesRequestMethod>(|offers| offers.resources)?;
        one_page(request)?;
        let resources = translate::convert(self.shared.provider.resources(&self.caller(&context)))?;
        Ok(ListResourcesResult { resources, ..ListResourcesResult::default() }
            .with_ttl_ms(LIST_LIFETIME_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.offered::<ListResourceTemplatesRequestMethod>(|offers| offers.resources)?;
        one_page(request)?;
        let resource_templates = translate::convert(self.shared.provider.templates(&self.caller(&context)))?;
        Ok(ListResourceTemplatesResult { resource_templates, ..ListResourceTemplatesResult::default() }
            .with_ttl_ms(LIST_LIFETIME_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.offered::<ReadResourceRequestMethod>(|offers| offers.resources)?;
        let caller = self.caller(&context);
        let binding = || Binding::new(&caller.name, ReadResourceRequestMethod::VALUE, &request.uri, &Value::Null);
        let state = self.shared.seals.open(request.request_state.as_deref(), binding)?;
        let client = (request.input_responses, state);
        let had = self.have(Wanted::Resource(&request.uri), Value::Null, context, client).await?;
        match had {
            Had::Value(mut had) => {
                let result = ReadResourceResult::new(translate::convert(had["contents"].take())?);
                Ok(result.with_ttl_ms(LIST_LIFETIME_MS).with_cache_scope(CacheScope::Private).into())
            }
            Had::Asks(required) => Ok(self.shared.seals.input_required(&required, &binding())?.into()),
        }
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.offered::<ListPromptsRequestMethod>(|offers| offers.prompts)?;
        one_page(request)?;
        let prompts = translate::convert(self.shared.provider.prompts(&self.caller(&context)))?;
        Ok(ListPromptsResult { prompts, ..ListPromptsResult::default() }
            .with_ttl_ms(LIST_LIFETIME_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.offered::<GetPromptRequestMethod>(|offers| offers.prompts)?;
        let caller = self.caller(&context);
        let given = Value::Object(request.arguments.unwrap_or_default());
        let binding = |given: &Value| Binding::new(&caller.name, GetPromptRequestMethod::VALUE, &request.name, given);
        let state = self.shared.seals.open(request.request_state.as_deref(), || binding(&given))?;
        let client = (request.input_responses, state);
        match self.have(Wanted::Prompt(&request.name), given.clone(), context, client).await? {
            Had::Value(had) => translate::prompt_result(had).map(GetPromptResponse::from),
            Had::Asks(required) => Ok(self.shared.seals.input_required(&required, &binding(&given))?.into()),
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.offered::<CompleteRequestMethod>(|offers| offers.completions)?;
        let (caller, argument) = (self.caller(&context), request.argument);
        let Some(subject) = translate::subject(request.r#ref) else { return Ok(CompleteResult::default()) };
        let mut values = self.shared.provider.complete(&caller, &subject, &argument.name, &argument.value).await;
        values.truncate(MAX_COMPLETIONS);
        let info = CompletionInfo::new(values).map_err(|error| ErrorData::internal_error(error, None))?;
        Ok(CompleteResult::new(info))
    }

    /// What the SDK does not recognise: a method that does not exist, or parameters that do not fit one that does.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let offers = self.shared.provider.offers();
        let exists = match request.method.as_str() {
            CallToolRequestMethod::VALUE | SubscriptionsListenRequestMethod::VALUE => true,
            ReadResourceRequestMethod::VALUE => offers.resources,
            GetPromptRequestMethod::VALUE => offers.prompts,
            CompleteRequestMethod::VALUE => offers.completions,
            _ => false,
        };
        if exists {
            let error = format!("Invalid parameters of {}", request.method);
            return Err(ErrorData::invalid_params(error, None));
        }
        Err(unknown_method(&request.method))
    }

    #[expect(deprecated, reason = "clients of the older revisions still set it")]
    async fn set_level(
        &self,
        request: rmcp::model::SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        use rmcp::model::LoggingLevel;
        self.offered::<rmcp::model::SetLevelRequestMethod>(|offers| offers.messages)?;
        let level = match request.level {
            LoggingLevel::Debug => Severity::Debug,
            LoggingLevel::Info | LoggingLevel::Notice => Severity::Info,
            LoggingLevel::Warning => Severity::Warning,
            LoggingLevel::Error | LoggingLevel::Critical | LoggingLevel::Alert | LoggingLevel::Emergency => {
                Severity::Error
            }
        };
        *self.session.level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.offered::<rmcp::model::SubscribeRequestMethod>(|offers| offers.resource_updates)?;
        let (provider, subject) = (&*self.shared.provider, json!({"uri": request.uri}));
        let begun = self.session.watches.begin(provider, &self.caller(&context), request.uri).await;
        begun.map_err(|error| translate::provider_error(error, &subject))
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.offered::<rmcp::model::UnsubscribeRequestMethod>(|offers| offers.resource_updates)?;
        self.session.watches.end(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&translate::capabilities(self.shared.provider.offers())))
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        self.tell_listener(subscription).await
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.tell_session(context.peer);
    }
}

impl Endpoint {
    fn offered<M: ConstString>(&self, which: fn(&Offers) -> bool) -> Result<(), ErrorData> {
        if which(&self.shared.provider.offers()) { Ok(()) } else { Err(unknown_method(M::VALUE)) }
    }

    /// The call that this request makes, and what it reports meanwhile.
    pub(super) fn call(
        &self,
        tool: String,
        arguments: Value,
        context: RequestContext<RoleServer>,
        responses: Option<InputResponses>,
        state: Option<Value>,
    ) -> (Call, Option<Reports>) {
        let (progress, reports) = progress(&context);
        let (caller, session, cancelled) = (self.caller(&context), Self::session_id(&context), context.ct.clone());
        let client = self.client(context, responses, state);
        let wire = self.session.wire;
        (Call { tool, arguments, caller, wire, session, cancelled, progress, client }, reports)
    }

    /// Pulled when nothing unasked goes out any more: on stdio the SDK looks at nothing but answers once the input has ended,
    /// and whoever waited for a notification would wait with its answer, too.
    pub(super) fn muted(&self) -> CancellationToken {
        match self.session.wire {
            Wire::Stdio => self.shared.stopping.clone(),
            Wire::Mcp | Wire::Rest | Wire::Cli => CancellationToken::new(),
        }
    }

    pub(super) fn client(
        &self,
        context: RequestContext<RoleServer>,
        responses: Option<InputResponses>,
        state: Option<Value>,
    ) -> Client {
        let level = self.level(&context);
        let (responses, stopping) = (responses.unwrap_or_default(), self.shared.stopping.clone());
        let muted = self.muted();
        Client::new(Arc::new(PeerSide { context, level, responses, state, stopping, muted }))
    }

    /// From which severity on this client wants to be told: by request in the modern era, by session before it.
    fn level(&self, context: &RequestContext<RoleServer>) -> Option<Severity> {
        if !self.shared.provider.offers().messages {
            return None;
        }
        if context.peer.peer_info().is_some() && context.meta.protocol_version().is_none() {
            let level = *self.session.level.lock().unwrap_or_else(PoisonError::into_inner);
            return Some(level.unwrap_or(Severity::Info));
        }
        context.meta.log_level().map(|_| Severity::Debug)
    }
}

impl Endpoint {
    /// Passes reports on while the call runs; those that wait when it ends still go out before its answer.
    pub(super) async fn with_reports<T>(
        &self,
        call: impl Future<Output = T>,
        reports: Option<Reports>,
        peer: &Peer<RoleServer>,
    ) -> T {
        let Some(mut reports) = reports else { return call.await };
        let (ended, muted) = (CancellationToken::new(), self.muted());
        let pass_on = async {
            loop {
                let report = tokio::select! {
                    biased;
                    report = reports.recv() => match report {
                        Some(report) => report,
                        None => return,
                    },
                    () = ended.cancelled() => {
                        reports.close();
                        continue;
                    }
                };
                tokio::select! {
                    // The client is gone: the call ends in a moment.
                    told = peer.notify_progress(report) => drop(told),
                    () = muted.cancelled() => return,
                }
            }
        };
        let call = async {
            let answer = call.await;
            ended.cancel();
            answer
        };
        futures_util::future::join(call, pass_on).await.0
    }
}

fn unknown_method(method: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("Method not found: {}", shown(method)), None)
}

/// All fits on one page, so nobody was ever given a cursor.
fn one_page(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor) {
        None => Ok(()),
        Some(_) => Err(ErrorData::invalid_params("There is no such page", None)),
    }
}

pub(super) type Reports = mpsc::Receiver<ProgressNotificationParam>;

/// Where a call reports to, if its client asked for that.
fn progress(context: &RequestContext<RoleServer>) -> (Progress, Option<Reports>) {
    let Some(token) = context.meta.get_progress_token() else { return (Progress::default(), None) };
    let (sender, reports) = mpsc::channel(PROGRESS_KEPT);
    let progress = Progress::to(move |update: ProgressUpdate| {
        let mut report = ProgressNotificationParam::new(token.clone(), update.done);
        report.total = update.total;
        report.message = update.message;
        let _ = sender.try_send(report);
    });
    (progress, Some(reports))
}
