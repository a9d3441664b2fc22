//! From a question to one call and an answer that says no more than its result: planner, grounded summaries, receipts.

mod grounding;
mod summary;

pub use grounding::{Bullet, Described, Flaw, Grounded, Grounding, described};
pub use summary::Summary;
