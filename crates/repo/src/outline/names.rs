//! The name of what a node defines. Everything here looks at a bounded number of nodes below it.

use tree_sitter::Node;

use super::DefinitionKind;
use super::forms::Form;
use crate::syntax::Parsed;

/// Longer ones are expressions, or made by a program.
const NAME_MAX_BYTES: usize = 200;

/// Pointers to functions that return pointers to arrays: nobody goes further.
const DECLARATORS_MAX: usize = 16;

/// How a part of a name is kept apart from what it is part of, in all languages.
const SEPARATOR: &str = "::";

/// Where the node stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surroundings {
    /// Its line is not indented.
    pub(super) outermost: bool,
    pub(super) in_function: bool,
}

/// `None` if it defines nothing after all, or nothing with a name.
pub(super) fn defined(
    parsed: &Parsed<'_>,
    node: Node<'_>,
    form: Form,
    around: Surroundings,
) -> Option<(DefinitionKind, String)> {
    use DefinitionKind::{Constant, Function, Type};
    let field = |name: &str| node.child_by_field_name(name).and_then(|name| plain(parsed.text(name)));
    match form {
        Form::Named(kind) => Some((kind, field("name")?)),
        Form::WithBody(kind) => {
            node.child_by_field_name("body")?;
            Some((kind, field("name")?))
        }
        Form::Implementation => {
            let of = short(node.child_by_field_name("type")?)?;
            Some((Type, implemented(parsed.text(of))?))
        }
        Form::Received => {
            let name = field("name")?;
            let receiver = receiver(parsed, node).map(|receiver| format!("{receiver}{SEPARATOR}{name}"));
            Some((Function, receiver.unwrap_or(name)))
        }
        Form::Group | Form::Assignment | Form::Property if !around.outermost => None,
        Form::Group => Some((Constant, first_spec(parsed, node)?)),
        Form::Variable => match node.child_by_field_name("value").and_then(of_value) {
            Some(kind) => Some((kind, field("name")?)),
            None if around.outermost && !around.in_function => {
                Some((Constant, field("name").filter(|name| is_word(name))?))
            }
            None => None,
        },
        Form::Field => {
            let kind = of_value(node.child_by_field_name("value")?)?;
            Some((kind, field("name").or_else(|| field("property"))?))
        }
        Form::Assigned => {
            let kind = of_value(node.child_by_field_name("right")?)?;
            Some((kind, assigned(parsed.text(node.child_by_field_name("left")?))?))
        }
        Form::Assignment => Some((Constant, field("left").filter(|name| is_word(name))?)),
        Form::Property => Some((Constant, property(parsed, node)?)),
        Form::Alias => Some((Type, field("type")?)),
        Form::Declared => Some((Function, declared(parsed, node)?.0)),
        Form::Prototype if around.in_function => None,
        Form::Prototype => declared(parsed, node).filter(|(_, called)| *called).map(|(name, _)| (Function, name)),
        Form::Typedef => {
            let of = node.child_by_field_name("type")?;
            // That type stands inside, under its own name.
            let named = of.child_by_field_name("body").is_some() && of.child_by_field_name("name").is_some();
            if named { None } else { Some((Type, declared(parsed, node)?.0)) }
        }
    }
}

/// A name on one line, without quotes.
fn plain(text: &str) -> Option<String> {
    let name = text.trim().trim_matches(['"', '\'', '`']);
    let name = name.strip_prefix("r#").unwrap_or(name);
    let fits = !name.is_empty() && name.len() <= NAME_MAX_BYTES && !name.contains(['\n', '\r']);
    fits.then(|| name.to_owned())
}

fn is_word(name: &str) -> bool {
    name.chars().all(|character| character.is_alphanumeric() || matches!(character, '_' | '$'))
}

/// The node itself, unless it is too long to be a name.
fn short(node: Node<'_>) -> Option<Node<'_>> {
    (node.byte_range().len() <= NAME_MAX_BYTES).then_some(node)
}

fn child<'t>(node: Node<'t>, wanted: &[&str]) -> Option<Node<'t>> {
    node.named_children(&mut node.walk()).find(|child| wanted.contains(&child.kind()))
}

/// `&'a mut path::Router<S>` is `Router`.
fn implemented(of: &str) -> Option<String> {
    let bare = of.trim_start_matches('&').trim_start();
    let bare = if bare.starts_with('\'') { bare.split_once(' ').map_or(bare, |(_, rest)| rest) } else { bare };
    let bare = ["mut ", "dyn "].iter().fold(bare, |bare, word| bare.trim_start().strip_prefix(word).unwrap_or(bare));
    let path = bare.split('<').next().unwrap_or(bare).trim();
    let last = path.rsplit(SEPARATOR).next().unwrap_or(path);
    plain(if last.is_empty() { of } else { last })
}

/// The type in `func (s *Store[K]) Put`.
fn receiver(parsed: &Parsed<'_>, node: Node<'_>) -> Option<String> {
    let parameter = child(node.child_by_field_name("receiver")?, &["parameter_declaration"])?;
    let bare = parsed.text(short(parameter.child_by_field_name("type")?)?).trim_start_matches(['*', '(', ' ']);
    plain(bare.split(['[', ')']).next().unwrap_or(bare))
}

/// `const ( A = iota; B )` is called `A`.
fn first_spec(parsed: &Parsed<'_>, node: Node<'_>) -> Option<String> {
    const SPECS: [&str; 2] = ["const_spec", "var_spec"];
    let spec = child(node, &SPECS).or_else(|| child(child(node, &["var_spec_list"])?, &SPECS))?;
    plain(parsed.text(spec.child_by_field_name("name")?))
}

/// What a variable is whose value is of this kind, if that is more than a value.
fn of_value(value: Node<'_>) -> Option<DefinitionKind> {
    match value.kind() {
        "arrow_function" | "function_expression" | "generator_function" => Some(DefinitionKind::Function),
        "class" => Some(DefinitionKind::Type),
        _ => None,
    }
}

/// `module.exports.parse` is `parse`, `Router.prototype.route` is `Router::route`.
fn assigned(left: &str) -> Option<String> {
    if left.len() > NAME_MAX_BYTES {
        return None;
    }
    let said = |part: &&str| !matches!(*part, "module" | "exports" | "prototype" | "this");
    let parts: Vec<&str> = left.split('.').map(str::trim).filter(said).collect();
    let good = !parts.is_empty() && parts.iter().all(|part| !part.is_empty() && is_word(part));
    good.then(|| parts.join(SEPARATOR))
}

fn property(parsed: &Parsed<'_>, node: Node<'_>) -> Option<String> {
    let name = child(child(node, &["variable_declaration"])?, &["identifier"])?;
    plain(parsed.text(name))
}

/// The name inside of a declarator, and whether it is that of a function.
fn declared(parsed: &Parsed<'_>, node: Node<'_>) -> Option<(String, bool)> {
    let mut at = node.child_by_field_name("declarator")?;
    let mut called = false;
    for _ in 0..DECLARATORS_MAX {
        called |= at.kind() == "function_declarator";
        let inner = match at.kind() {
            "reference_declarator" | "parenthesized_declarator" | "attributed_declarator" => {
                at.named_children(&mut at.walk()).find(|child| child.kind() != "ms_call_modifier")
            }
            "operator_cast" => None,
            _ => at.child_by_field_name("declarator"),
        };
        match inner {
            Some(inner) => at = inner,
            None => return Some((plain(&without_arguments(parsed.text(short(at)?)))?, called)),
        }
    }
    None
}

/// `Store<K>::put` is `Store::put`.
fn without_arguments(name: &str) -> String {
    if name.contains("operator") {
        return name.split('(').next().unwrap_or(name).to_owned();
    }
    let mut depth = 0_usize;
    let mut bare = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => bare.push(character),
            _ => {}
        }
    }
    bare
}
