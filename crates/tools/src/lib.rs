//! Our own tools: one file each, one line each in [`all`].
//!
//! A tool knows its arguments and the call's context, never who reads the answer or over which wire it goes.

mod hello;

use std::sync::Arc;

use countersign_contract::{AnyTool, InvalidContract, typed};

/// The list, in the order in which catalogs show it.
pub fn all() -> Result<Vec<Arc<dyn AnyTool>>, InvalidContract> {
    Ok(vec![typed(hello::Hello)?])
}
