//! Questions: the planner over the gate's catalog, the language model that may be configured, and the book of receipts.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use countersign_ask::{Ask, Keeping, Means, Model, NotKept, Page, ReceiptBook};
use countersign_contract::BoxFuture;
use countersign_host::Gate;
use countersign_index::{Kept, Local, Manner, Patience, Service};
use countersign_store::{Receipts, Store, StoredReceipt};
use countersign_transports::ExitCode;
use serde_json::{Value, json};

use crate::config::{Config, Endpoint, ReceiptContent};
use crate::failure::CommandError;

/// Of the answer to a trial question.
const ANSWER_MAX: usize = 256 * 1024;

/// A trial question is asked once: what passes by itself is worth knowing of, too.
const ONCE: Patience = Patience {
    tries: 1,
    first_pause: Duration::ZERO,
    longest_pause: Duration::ZERO,
    // A model that was not used for a while is loaded first.
    one_try: Duration::from_secs(30),
    all_tries: Duration::from_secs(30),
};

/// Some models refuse a limit below this.
const WORD_TOKENS: u32 = 16;

pub(super) fn ask(config: &Config, gate: &Arc<Gate>, store: &Store) -> Result<Ask, CommandError> {
    let model = match &config.llm {
        None => None,
        Some(endpoint) => {
            let service = super::service(endpoint).context("`llm.url` is no URL")?;
            Some(Model::new(service).map_err(|error| CommandError::message(ExitCode::Usage, error))?)
        }
    };
    let local = Local::on_all_cores();
    Ok(Ask::new(Means {
        gate: Arc::clone(gate),
        known: Kept::new(Arc::new(local.clone()), store.context("tools".into())),
        local,
        model,
        receipts: Arc::new(Book(store.receipts(config.receipts.keep))),
        keeping: match config.receipts.content {
            ReceiptContent::Full => Keeping::Content,
            ReceiptContent::Digests => Keeping::Digests,
        },
    }))
}

/// Whether the configured language model answers; `None` where none is configured.
pub(crate) async fn try_model(config: &Config) -> Option<Result<(), String>> {
    let endpoint = config.llm.as_ref()?;
    Some(ask_for_a_word(endpoint).await)
}

/// A word costs nearly nothing, and shows that URL, key and name of the model are right.
async fn ask_for_a_word(endpoint: &Endpoint) -> Result<(), String> {
    let Service { url, model, key } = super::service(endpoint).map_err(|error| error.to_string())?;
    let manner =
        Manner { name: "language model", path: &["chat", "completions"], answer_max: ANSWER_MAX, patience: ONCE };
    let service = countersign_index::Endpoint::new(url, key, &manner)?;
    // Newer models know the limit by the second name only, and older services by the first.
    let question = |limit: &str| json!({"model": model, "messages": [{"role": "user", "content": "Say: yes"}], limit: WORD_TOKENS});
    let answer = match service.ask(question("max_tokens").to_string().into_bytes()).await {
        Err(failure) if failure.is_bad_request => {
            service.ask(question("max_completion_tokens").to_string().into_bytes()).await
        }
        answered => answered,
    };
    let answer: Value = serde_json::from_slice(&answer.map_err(|failure| failure.to_string())?).unwrap_or_default();
    if answer["choices"].is_array() {
        return Ok(());
    }
    Err("the language model gave an answer that is not one of the protocol".to_owned())
}

#[derive(Debug)]
struct Book(Receipts);

impl ReceiptBook for Book {
    fn keep(&self, page: Page) -> BoxFuture<'_, Result<(), NotKept>> {
        let Page { id, at, receipt, material_digest, material } = page;
        let (id, material_digest) = (id.to_string(), material_digest.to_string());
        let stored = StoredReceipt { id, at, body: receipt, material_digest, material };
        Box::pin(async { self.0.keep(stored).await.map_err(|_| NotKept) })
    }
}
