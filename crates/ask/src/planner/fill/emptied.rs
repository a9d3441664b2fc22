//! Texts that are to be emptied: "clear the description of task 3", "truncate notes.txt".

use super::{Evidence, Filler};
use crate::planner::deed::Deed;
use crate::planner::parameter::{Kind, Parameter};
use crate::planner::pattern::Pattern;

impl Filler<'_> {
    /// The text that the request names, or the whole content of a file.
    pub(super) fn emptied(&mut self) {
        static CONTENT: Pattern =
            Pattern::new(r"(?i)\b(?:empty|emptied|blank|truncate|zero out|wipe|nothing(?:'s| is)? left in)\b");
        let request = &self.question.request;
        if !self.question.quoted.is_empty() || self.tool.deeds.is_only(Deed::Delete) {
            return;
        }
        let is_text = |each: &&Parameter| each.kind == Kind::Text && each.is_text() && each.choices.is_empty();
        let is_named = |each: &Parameter| request.object.iter().any(|object| each.name_set.contains(object));
        let open = self.open();
        let texts = || open.iter().copied().filter(is_text);
        let named = texts().find(|each| request.deeds.has(Deed::Delete) && is_named(each) && !each.required);
        let content = || {
            texts().find(|each| each.is_called(&["content", "text", "body"]) && CONTENT.is_match(&self.question.lower))
        };
        if let Some(parameter) = named.or_else(content) {
            self.set(parameter, "".into(), Evidence::NAMED);
        }
    }
}
