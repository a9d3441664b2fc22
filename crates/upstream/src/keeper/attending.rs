//! One connection from its greeting to its end: what the server offers is looked at when it is there, and again
//! whenever it says that something changed.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use countersign_contract::visible;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::{Condition, Event, Keeping, Line, Tried};
use crate::admission::{Judged, Verdict, judge};
use crate::offered::{self, Listed, Offered};
use crate::session::{CallFailure, Era, Session, connect};
use crate::spec::{ServerName, ServerSpec};

const LIST_TIMEOUT: Duration = Duration::from_secs(20);

/// Tools, resources, their templates, prompts.
const LISTS: usize = 4;

/// For what is not needed to call tools.
const OTHERS_TIMEOUT: Duration = Duration::from_secs(10);

const METHOD_NOT_FOUND: i64 = -32601;

/// Between looking at a server's lists twice: a server that never stops saying that they changed is asked less and less.
const SHORTEST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Before a list that could not be had is asked for again, at first and at last.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_mins(1);

/// Refused tools that get a line of the log each, in a minute.
const TOLD_MAX: usize = 20;
const MINUTE: Duration = Duration::from_mins(1);

/// Connects and stays; answers why it is over.
pub(super) async fn attend(line: &Arc<Line>, keeping: &Keeping, era: &mut Option<Era>) -> String {
    let begun = Instant::now();
    let session = match connect(&line.spec(), *era, &line.lasting.users, &keeping.tasks).await {
        Ok(session) => session,
        Err(failure) => {
            // It may have been replaced by another version.
            *era = None;
            return failure.to_string();
        }
    };
    // Whoever still asks something holds on to it.
    let _closing = session.close_at_last();
    *era = Some(session.era());
    session.follow(line.watched().to_tell(), &keeping.tasks);
    let attention = Attention::new(line, keeping, &session, begun);
    let mut looking = std::pin::pin!(attention.look());
    loop {
        tokio::select! {
            biased;
            why = session.ended() => return why.to_string(),
            failure = &mut looking => return format!("its tools cannot be listed: {failure}"),
            uri = session.updated() => {
                // One that tells of what nobody watches keeps nobody from hearing of what is watched.
                if line.watched().contains(&uri) {
                    keeping.announce(Event::Resource(line.spec().uri_here(&uri)));
                }
            }
        }
    }
}

struct Attention<'a> {
    line: &'a Arc<Line>,
    keeping: &'a Keeping,
    session: &'a Session,
    begun: Instant,
    told: Mutex<Told>,
    /// The rules to look at the lists by; another value whenever there is a reason to look.
    reasons: watch::Sender<Arc<ServerSpec>>,
    /// Its tools were listed for the first time.
    first: Notify,
}

/// What came of looking at a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Looked {
    Whole,
    /// What was known of it before is all there is.
    InVain,
}

impl<'a> Attention<'a> {
    fn new(line: &'a Arc<Line>, keeping: &'a Keeping, session: &'a Session, begun: Instant) -> Self {
        let (told, reasons) = (Mutex::default(), watch::Sender::new(line.spec()));
        Self { line, keeping, session, begun, told, reasons, first: Notify::new() }
    }

    /// Looks at all lists again and again, at each by itself: one that does not come keeps no other back. Only without a
    /// first list of tools there is nothing to stay for; later, what was known stays until there is better.
    async fn look(self) -> CallFailure {
        let this = &self;
        let others = async {
            this.first.notified().await;
            tokio::select! {
                // Asked for in this order, whatever comes first.
                biased;
                failure = this.again(|spec| this.resources(spec)) => failure,
                failure = this.again(|spec| this.templates(spec)) => failure,
                failure = this.again(|spec| this.prompts(spec)) => failure,
            }
        };
        tokio::select! {
            // What the server says from now on, it may say after its tools were read.
            biased;
            failure = this.again(|spec| this.tools(spec)) => failure,
            failure = others => failure,
            never = this.find_reasons() => match never {},
        }
    }

    async fn find_reasons(&self) -> Infallible {
        loop {
            tokio::select! {
                () = self.line.rules_changed.notified() => {}
                () = self.session.lists_changed() => {}
            }
            self.reasons.send_replace(self.line.spec());
        }
    }

    /// One list: now, whenever there is a reason, and after a while if it could not be had. By other rules at once.
    async fn again<F>(&self, look: impl Fn(Arc<ServerSpec>) -> F) -> CallFailure
    where
        F: Future<Output = Result<Looked, CallFailure>>,
    {
        let mut reasons = self.reasons.subscribe();
        let (mut pause, mut retry) = (SHORTEST_PAUSE, FIRST_RETRY);
        loop {
            let spec = Arc::clone(&reasons.borrow_and_update());
            let looked = tokio::select! {
                biased;
                () = others_than(&spec, reasons.clone()) => continue,
                looked = look(Arc::clone(&spec)) => match looked {
                    Ok(looked) => looked,
                    Err(failure) => return failure,
                }
            };
            let is_whole = looked == Looked::Whole;
            retry = if is_whole { FIRST_RETRY } else { (retry * 2).min(LAST_RETRY) };
            let waiting = Instant::now();
            tokio::select! {
                changed = reasons.changed() => drop(changed),
                () = tokio::time::sleep(retry), if !is_whole => {}
            }
            pause = if waiting.elapsed() > pause { SHORTEST_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
            tokio::select! {
                () = others_than(&spec, reasons.clone()) => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn tools(&self, spec: Arc<ServerSpec>) -> Result<Looked, CallFailure> {
        match self.judged(&spec).await {
            Ok(judged) => {
                self.take(&spec, &judged);
                self.note("tools", None);
                Ok(Looked::Whole)
            }
            Err(failure) if !self.line.state().is_known => Err(failure),
            Err(failure) => {
                self.note("tools", Some(format!("its tools cannot be listed again: {failure}")));
                Ok(Looked::InVain)
            }
        }
    }

    async fn judged(&self, spec: &Arc<ServerSpec>) -> Result<Vec<Judged>, CallFailure> {
        let tools = match self.session.list("tools/list", "tools", LIST_TIMEOUT).await {
            // Some have tools without saying so.
            Err(CallFailure::Refused { code: METHOD_NOT_FOUND, .. }) if !self.session.declares("tools") => Vec::new(),
            tools => tools?,
        };
        // A long list takes its time, and nobody else should have to wait for it.
        let (spec, level) = (Arc::clone(spec), self.keeping.level);
        let judged = tokio::task::spawn_blocking(move || judge(&spec, level, &tools)).await;
        judged.map_err(|_| CallFailure::Garbled("a list of tools that cannot be judged"))
    }

    fn take(&self, judged_by: &Arc<ServerSpec>, judged: &[Judged]) {
        let count = judged.len();
        let (before, first) = {
            let mut state = self.line.state();
            if !Arc::ptr_eq(&state.spec, judged_by) {
                return;
            }
            state.is_known = true;
            let first = state.session.is_none();
            if first {
                state.session = Some(self.session.clone());
                state.condition = Condition::Ready;
                state.error = None;
                state.missing.clear();
                state.greeting = self.begun.elapsed();
            }
            (std::mem::replace(&mut state.judged, judged.to_vec()), first)
        };
        let known: HashSet<_> = before.iter().map(|tool| tool.digest).collect();
        let news = judged.iter().filter(|tool| !known.contains(&tool.digest));
        self.told.lock().unwrap_or_else(PoisonError::into_inner).tell(self.line.name(), news);
        if first {
            self.first.notify_one();
            tracing::info!(server = %self.line.name(), tools = count, "an upstream server is connected");
            self.keeping.announce(Event::Condition);
        }
        let differs = |(was, is): (&Judged, &Judged)| was.digest != is.digest;
        if before.len() != count || before.iter().zip(judged).any(differs) {
            self.keeping.announce(Event::Tools);
        }
        self.keeping.note_attempt(self.line, Tried::Tools);
    }

    async fn resources(&self, spec: Arc<ServerSpec>) -> Result<Looked, CallFailure> {
        let listed = offered::resources(&spec, self.session, OTHERS_TIMEOUT).await;
        Ok(self.take_other(&spec, "resources", listed, |offered| &mut offered.resources, Event::Resources))
    }

    async fn templates(&self, spec: Arc<ServerSpec>) -> Result<Looked, CallFailure> {
        let listed = offered::templates(&spec, self.session, OTHERS_TIMEOUT).await;
        Ok(self.take_other(&spec, "resource templates", listed, |offered| &mut offered.templates, Event::Resources))
    }

    async fn prompts(&self, spec: Arc<ServerSpec>) -> Result<Looked, CallFailure> {
        let listed = offered::prompts(&spec, self.session, OTHERS_TIMEOUT).await;
        Ok(self.take_other(&spec, "prompts", listed, |offered| &mut offered.prompts, Event::Prompts))
    }

    /// A server whose prompts cannot be had still has its tools.
    fn take_other<T: PartialEq>(
        &self,
        listed_by: &Arc<ServerSpec>,
        what: &'static str,
        listed: Listed<T>,
        place: impl Fn(&mut Offered) -> &mut Vec<T>,
        event: Event,
    ) -> Looked {
        let items = match listed {
            Ok(items) => items,
            Err(failure) => {
                self.note(what, Some(format!("its {what} cannot be listed: {failure}")));
                return Looked::InVain;
            }
        };
        {
            let mut state = self.line.state();
            if !Arc::ptr_eq(&state.spec, listed_by) {
                return Looked::Whole;
            }
            let offered = Arc::make_mut(&mut state.offered);
            offered.completes = self.session.declares("completions");
            let before = std::mem::replace(place(offered), items);
            if before != *place(offered) {
                self.keeping.announce(event);
            }
        }
        self.note(what, None);
        Looked::Whole
    }

    /// Whether this of it can be had.
    fn note(&self, what: &'static str, failure: Option<String>) {
        let (before, all) = {
            let mut state = self.line.state();
            state.looked_at.insert(what);
            let before = match &failure {
                Some(failure) => state.missing.insert(what, failure.clone()),
                None => state.missing.remove(what),
            };
            (before, state.looked_at.len() == LISTS)
        };
        if before != failure {
            if let Some(error) = failure {
                tracing::warn!(server = %self.line.name(), error, "not all that a server has is known");
            }
            self.keeping.announce(Event::Condition);
        }
        if all {
            self.keeping.note_attempt(self.line, Tried::Wholly);
        }
    }
}

/// Resolves when the rules are no longer these.
async fn others_than(spec: &Arc<ServerSpec>, mut reasons: watch::Receiver<Arc<ServerSpec>>) {
    drop(reasons.wait_for(|now| !Arc::ptr_eq(now, spec)).await);
}

/// How much was said of refused tools lately: a server must not fill the log with the names of its tools.
struct Told {
    since: Instant,
    lines: usize,
}

impl Default for Told {
    fn default() -> Self {
        Self { since: Instant::now(), lines: 0 }
    }
}

impl Told {
    fn tell<'j>(&mut self, server: &ServerName, news: impl Iterator<Item = &'j Judged>) {
        if self.since.elapsed() >= MINUTE {
            *self = Self::default();
        }
        let mut untold = 0;
        for tool in news {
            let Verdict::Refused(reasons) = &tool.verdict else { continue };
            if self.lines >= TOLD_MAX {
                untold += 1;
                continue;
            }
            self.lines += 1;
            let reasons: Vec<_> = reasons.iter().map(ToString::to_string).collect();
            let name = visible(&tool.name);
            tracing::warn!(%server, tool = &*name, reasons = reasons.join("; "), "a tool is refused");
        }
        // Once, whatever comes after it.
        if untold > 0 && self.lines == TOLD_MAX {
            self.lines += 1;
            tracing::warn!(%server, tools = untold, "more tools are refused; `countersign check` names them");
        }
    }
}

#[cfg(test)]
mod tests {
    use countersign_contract::Digest;

    use super::{TOLD_MAX, Told};
    use crate::admission::{Judged, Verdict};
    use crate::reasons::Reason;

    #[test]
    fn the_log_is_not_filled_with_refusals() {
        let refused = Judged {
            name: "a".to_owned(),
            digest: Digest::of_bytes(b"a"),
            verdict: Verdict::Refused(vec![Reason::NoDescription]),
        };
        let (mut told, server) = (Told::default(), "s".parse().unwrap());
        told.tell(&server, vec![&refused; 3].into_iter());
        assert_eq!(told.lines, 3);
        for _ in 0..3 {
            told.tell(&server, vec![&refused; 1000].into_iter());
            assert_eq!(told.lines, TOLD_MAX + 1);
        }
    }
}
