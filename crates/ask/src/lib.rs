//! From a question to one call and an answer that says no more than its result: planner, grounded summaries, receipts.

mod grounding;
mod planner;
mod summary;

pub use grounding::{Bullet, Flaw, Grounded, Likeness, check};
pub use planner::{Candidate, Choice, Example, Offer, Parts, Plan, Planner};
pub use summary::Summary;
