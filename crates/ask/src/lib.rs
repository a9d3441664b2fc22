//! From a question to one call and an answer that says no more than its result: planner, grounded summaries, receipts.

mod answer;
mod ask;
mod grounding;
mod model;
mod offers;
mod planner;
mod receipt;
mod summary;

pub use answer::{Answered, Outcome, Refusal};
pub use ask::{Ask, AskError, Means, Planned, Question};
pub use grounding::{Bullet, Described, Flaw, Grounded, Grounding, described};
pub use model::{Model, ModelError};
pub use planner::{Candidate, Choice, Example, Offer, Parts, Plan, Planner};
pub use receipt::{
    AskReceipt, AuditRecord, CallReceipt, Called, Here, Keeping, NotKept, Offered, Page, Receipt, ReceiptBook,
    ReceiptFile, ReceiptFlaw, Step,
};
pub use summary::Summary;
