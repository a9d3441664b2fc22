//! How a tool reads one file: where it stands if it can, because to wake a thread for it takes longer than to read it.

use std::sync::Arc;

use countersign_contract::ToolError;
use countersign_repo::{FileRefused, Found, PathPolicy, Root};

pub(crate) async fn read(
    root: &Arc<Root>,
    policy: &'static PathPolicy,
    path: &str,
) -> Result<Result<Found, FileRefused>, ToolError> {
    if let Some(found) = root.read_at_once(policy, path) {
        return Ok(found);
    }
    let (root, path) = (Arc::clone(root), path.to_owned());
    tokio::task::spawn_blocking(move || root.read(policy, &path)).await.map_err(ToolError::internal)
}
