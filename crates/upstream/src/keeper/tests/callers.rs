//! What a server says with no call, and who hears it.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use countersign_contract::{
    Access, Answers, BoxFuture, CallContext, Caller, Capability, Client, ClientSide, Progress, Questions, Severity,
    ToolError,
};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{Fleet, PATIENCE, fleet, legacy, on_one_thread, ready, report_when, sum};
use crate::keeper::Condition;
use crate::link::toy::{Answer, Toy};

/// Agrees to everything, and keeps what it is told.
#[derive(Default)]
struct Listening(Mutex<Vec<Value>>);

impl ClientSide for Listening {
    fn declares(&self, _capability: Capability) -> bool {
        true
    }

    fn state(&self) -> Option<&Value> {
        None
    }

    fn repeats(&self) -> bool {
        false
    }

    fn ask(&self, questions: Questions, _state: Option<Value>) -> BoxFuture<'_, Result<Answers, ToolError>> {
        let accept = json!({"action": "accept", "content": {}});
        Box::pin(async move { Ok(questions.into_keys().map(|name| (name, accept.clone())).collect()) })
    }

    fn wants(&self) -> Option<Severity> {
        None
    }

    fn tell(&self, _severity: Severity, message: Value) -> BoxFuture<'_, ()> {
        self.0.lock().unwrap().push(message);
        Box::pin(async {})
    }
}

/// Whether it came to a result, and what its client was told.
async fn call(fleet: &Fleet, name: &str) -> (bool, Vec<Value>) {
    let caller = Caller { name: name.into(), access: Access::All, approver: false };
    let (side, cancelled) = (Arc::new(Listening::default()), CancellationToken::new());
    let client = Client::new(Arc::clone(&side) as Arc<dyn ClientSide>);
    let ctx = CallContext::new(Arc::new(caller), PATIENCE, cancelled, Progress::default(), client);
    let result = fleet.tools()[0].call_json(&ctx, json!({})).await;
    let told = side.0.lock().unwrap().clone();
    (result.is_ok(), told)
}

/// Ann calls; the server forgets the session; somebody calls in the next one, and meanwhile the server says what may still
/// be about Ann's call. Its question is answered before the call is.
#[test]
fn what_may_be_about_a_call_in_an_earlier_session_is_told_to_no_other_caller() {
    for (caller, told, answer) in [("ann", vec![json!("secret")], "accept"), ("bob", vec![], "cancel")] {
        on_one_thread(async move {
            let session = Rc::new(RefCell::new("one"));
            let (called, answered) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
            let answers = Rc::new(RefCell::new(Vec::new()));
            let (known, heard) = (Rc::clone(&session), Rc::clone(&answers));
            let toy = Toy::start(0, move |asked| match (asked.method.as_str(), *known.borrow()) {
                ("GET", "two") => {
                    let level = json!({"level": "info", "data": "secret"});
                    let said = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": level});
                    let form = json!({"message": "Yes?", "requestedSchema": {"type": "object", "properties": {}}});
                    let asks = json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": form});
                    Answer::events(&[said, asks]).after(Arc::clone(&called).notified_owned())
                }
                ("tools/call", "two") if asked.session.as_deref() == Some("two") => {
                    called.notify_one();
                    Answer::result(asked, &sum()).after(Arc::clone(&answered).notified_owned())
                }
                ("", _) => {
                    heard.borrow_mut().push(asked.message["result"]["action"].clone());
                    answered.notify_one();
                    Answer::nothing(202)
                }
                (_, session) => legacy(asked, session).unwrap_or_else(|| Answer::nothing(404)),
            });
            let toy = toy.await;
            let fleet = fleet(&toy);
            ready(&fleet).await;
            assert!(call(&fleet, "ann").await.0);
            *session.borrow_mut() = "two";
            assert!(!call(&fleet, "ann").await.0);
            report_when(&fleet, |report| report.condition == Condition::Ready && report.restarts == 1).await;
            assert_eq!((call(&fleet, caller).await, &**answers.borrow()), ((true, told), &[json!(answer)][..]));
        });
    }
}
