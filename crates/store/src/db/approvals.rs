//! Held calls in the database. Everything that changes one runs in the writer's transaction, so that no two processes
//! use up the same approval.

use countersign_contract::{
    ApprovalId, AuditEntry, AuditEvent, CallToApprove, Decider, Decision, Digest, HeldCall, HeldState, NotDecided,
    Standing,
};
use jiff::{SignedDuration, Timestamp};
use sqlx::AssertSqlSafe;

use super::commit::Done;
use super::sql::{Connection, Row, Turn};

/// How long a call waits for a person.
const PENDING_FOR: SignedDuration = SignedDuration::from_hours(1);

/// How long the caller has to make the call again once it is approved.
const APPROVED_FOR: SignedDuration = SignedDuration::from_mins(15);

/// How long it can be looked up what became of one that was decided.
const KEPT_FOR: SignedDuration = SignedDuration::from_hours(24);

/// More calls of one caller in a project than a person looks through. Denied ones count for as long as the denial does:
/// whoever is denied does not ask again and again in other words.
const WAITING_MAX: i64 = 64;

const COLUMNS: &str = "SELECT id, state, caller, tool, scope, arguments, contract, request_id, preview, requested_at, \
                       expires_at, decided_by FROM approval";

/// What was done to the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    AsItWas,
    Changed,
}

impl Found {
    pub(crate) fn done<T>(self, value: T) -> Done<T> {
        match self {
            Self::AsItWas => Done::looked(value),
            Self::Changed => Done::changed(value, None),
        }
    }
}

/// See [`countersign_contract::HeldCalls::claim`].
pub(crate) async fn claim(connection: &mut Connection, call: &CallToApprove) -> Result<(Standing, Found), sqlx::Error> {
    connection.take_turn(Turn::Approvals).await?;
    let now = now();
    let text = format!(
        "{COLUMNS} WHERE caller = $1 AND tool = $2 AND scope = $3 AND arguments = $4 AND contract = $5 \
         AND state != 'used' AND expires_at > $6 ORDER BY requested_at DESC LIMIT 1"
    );
    let known = connection
        .query(AssertSqlSafe(text))
        .bind(&*call.caller)
        .bind(call.tool.as_str())
        .bind(&*call.scope)
        .bind(call.arguments.to_string())
        .bind(call.contract.to_string())
        .bind(now.as_millisecond())
        .fetch_optional()
        .await?;
    let Some(row) = known else { return hold(connection, call, now).await };
    let held = read(&row, now)?;
    match held.state {
        HeldState::Approved => {
            let used = connection.query("UPDATE approval SET state = 'used' WHERE id = $1").bind(held.id.as_str());
            used.execute().await?;
            Ok((Standing::Approved(held.id), Found::Changed))
        }
        HeldState::Denied => Ok((Standing::Denied(held), Found::AsItWas)),
        HeldState::Pending | HeldState::Used | HeldState::Expired => Ok((Standing::Waiting(held), Found::AsItWas)),
    }
}

/// See [`countersign_contract::HeldCalls::give_back`].
pub(crate) async fn give_back(connection: &mut Connection, id: ApprovalId) -> Result<Found, sqlx::Error> {
    connection.take_turn(Turn::Approvals).await?;
    let text = "UPDATE approval SET state = 'approved' WHERE id = $1 AND state = 'used'";
    let changed = connection.query(text).bind(id.as_str()).execute().await?;
    Ok(if changed > 0 { Found::Changed } else { Found::AsItWas })
}

async fn hold(
    connection: &mut Connection,
    call: &CallToApprove,
    now: Timestamp,
) -> Result<(Standing, Found), sqlx::Error> {
    let text = "SELECT count(*) FROM approval WHERE expires_at > $1 AND caller = $2 AND scope = $3 \
                AND state IN ('pending', 'denied')";
    let waiting = connection.query(text).bind(now.as_millisecond()).bind(&*call.caller).bind(&*call.scope);
    let waiting = waiting.fetch_one().await?;
    if waiting.get::<i64>(0)? >= WAITING_MAX {
        return Ok((Standing::TooMany, Found::AsItWas));
    }
    // What nobody decided in time nobody asks about any more.
    connection
        .query("DELETE FROM approval WHERE expires_at < $1 AND (state = 'pending' OR expires_at < $2)")
        .bind(now.as_millisecond())
        .bind((now - KEPT_FOR).as_millisecond())
        .execute()
        .await?;
    let CallToApprove { caller, tool, scope, arguments, contract, request_id, preview } = call;
    let held = HeldCall {
        id: ApprovalId::generate(),
        state: HeldState::Pending,
        tool: tool.clone(),
        caller: caller.clone(),
        scope: scope.clone(),
        request_id: *request_id,
        arguments: *arguments,
        contract: *contract,
        preview: preview.clone(),
        requested_at: now,
        expires_at: now + PENDING_FOR,
        decided_by: None,
    };
    let text = "INSERT INTO approval (id, state, caller, tool, scope, arguments, contract, request_id, preview, \
                requested_at, expires_at) VALUES ($1, 'pending', $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    connection
        .query(text)
        .bind(held.id.as_str())
        .bind(&**caller)
        .bind(tool.as_str())
        .bind(&**scope)
        .bind(arguments.to_string())
        .bind(contract.to_string())
        .bind(request_id.to_string())
        .bind(preview)
        .bind(now.as_millisecond())
        .bind(held.expires_at.as_millisecond())
        .execute()
        .await?;
    Ok((Standing::Waiting(held), Found::Changed))
}

/// With the record of it, for the audit chain.
pub(crate) async fn decide(
    connection: &mut Connection,
    scope: &str,
    id: ApprovalId,
    decision: Decision,
    by: &Decider,
) -> Result<Result<(HeldCall, AuditEntry), NotDecided>, sqlx::Error> {
    connection.take_turn(Turn::Approvals).await?;
    let now = now();
    let Some(mut held) = get(connection, scope, id).await? else { return Ok(Err(NotDecided::Unknown)) };
    if matches!(by, Decider::Approver(name) if *name == held.caller) {
        return Ok(Err(NotDecided::OwnCall));
    }
    // An approval that was not used yet can be taken back.
    let open = held.state == HeldState::Pending || (held.state == HeldState::Approved && decision == Decision::Deny);
    if !open {
        return Ok(Err(NotDecided::NotPending(held.state)));
    }
    let event = match decision {
        Decision::Approve => {
            (held.state, held.expires_at) = (HeldState::Approved, now + APPROVED_FOR);
            AuditEvent::Approved
        }
        Decision::Deny => {
            (held.state, held.expires_at) = (HeldState::Denied, now + PENDING_FOR);
            AuditEvent::Denied
        }
    };
    let name = by.name(&held.caller);
    held.decided_by = Some(format!("{name} ({})", by.wire()));
    connection
        .query("UPDATE approval SET state = $1, expires_at = $2, decided_by = $3 WHERE id = $4")
        .bind(held.state.as_str())
        .bind(held.expires_at.as_millisecond())
        .bind(held.decided_by.as_deref())
        .bind(id.as_str())
        .execute()
        .await?;
    let entry = AuditEntry {
        event,
        at: now,
        request_id: held.request_id,
        caller: name,
        wire: by.wire().into(),
        tool: held.tool.clone(),
        contract: held.contract,
        arguments: held.arguments,
        code: None,
        duration_us: None,
        result: None,
        approval: Some(id),
    };
    Ok(Ok((held, entry)))
}

/// What another project holds is not there.
pub(crate) async fn get(
    connection: &mut Connection,
    scope: &str,
    id: ApprovalId,
) -> Result<Option<HeldCall>, sqlx::Error> {
    let text = format!("{COLUMNS} WHERE id = $1 AND scope = $2");
    let row = connection.query(AssertSqlSafe(text)).bind(id.as_str()).bind(scope).fetch_optional().await?;
    row.map(|row| read(&row, Timestamp::now())).transpose()
}

pub(crate) async fn waiting(connection: &mut Connection, scope: &str) -> Result<Vec<HeldCall>, sqlx::Error> {
    let now = Timestamp::now();
    let text =
        format!("{COLUMNS} WHERE state = 'pending' AND expires_at > $1 AND scope = $2 ORDER BY requested_at, id");
    let rows = connection.query(AssertSqlSafe(text)).bind(now.as_millisecond()).bind(scope).fetch_all().await?;
    rows.iter().map(|row| read(row, now)).collect()
}

/// The same for every process, made by the first that asks.
pub(crate) async fn shared_key(
    connection: &mut Connection,
    name: &str,
    fresh: &[u8],
) -> Result<(Vec<u8>, Found), sqlx::Error> {
    let text = "INSERT INTO secret (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
    let added = connection.query(text).bind(name).bind(fresh).execute().await?;
    let kept = connection.query("SELECT value FROM secret WHERE name = $1").bind(name).fetch_one().await?.get(0)?;
    Ok((kept, if added > 0 { Found::Changed } else { Found::AsItWas }))
}

/// As the database keeps it.
fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}

fn read(row: &Row, now: Timestamp) -> Result<HeldCall, sqlx::Error> {
    let wrong = |error: &dyn std::fmt::Display| sqlx::Error::Decode(error.to_string().into());
    let text = |column: usize| row.get::<&str>(column);
    let time = |column: usize| Timestamp::from_millisecond(row.get(column)?).map_err(|error| wrong(&error));
    let digest = |column: usize| text(column)?.parse::<Digest>().map_err(|error| wrong(&error));
    let expires_at = time(10)?;
    let state = match text(1)? {
        "pending" | "approved" if expires_at <= now => HeldState::Expired,
        "pending" => HeldState::Pending,
        "approved" => HeldState::Approved,
        "denied" => HeldState::Denied,
        "used" => HeldState::Used,
        other => return Err(wrong(&format!("`{other}` is no state of a held call"))),
    };
    Ok(HeldCall {
        id: text(0)?.parse().map_err(|error| wrong(&error))?,
        state,
        caller: text(2)?.into(),
        tool: text(3)?.parse().map_err(|error| wrong(&error))?,
        scope: text(4)?.into(),
        arguments: digest(5)?,
        contract: digest(6)?,
        request_id: text(7)?.parse().map_err(|error| wrong(&error))?,
        preview: text(8)?.to_owned(),
        requested_at: time(9)?,
        expires_at,
        decided_by: row.get(11)?,
    })
}
