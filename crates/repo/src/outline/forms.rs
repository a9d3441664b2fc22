//! Which nodes of each grammar define something, and where the name is. The words are those of the grammars.

use self::Form::{Named, WithBody};
use super::DefinitionKind::{self, Constant, Function, Module, Type};
use crate::syntax::Grammar;

/// How a node names what it defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// In its field `name`.
    Named(DefinitionKind),
    /// The same, where it has a body; without one it only mentions something.
    WithBody(DefinitionKind),
    /// Rust's `impl`: by its type.
    Implementation,
    /// Go's method: by its receiver.
    Received,
    /// Go's `const` and `var`, one or several, outside of functions.
    Group,
    /// A variable of JavaScript: a function or a class by any other name, or a constant of the file.
    Variable,
    /// A field of a class of JavaScript that is a function.
    Field,
    /// `Router.prototype.route = function () {}`.
    Assigned,
    /// Python's constants: assignments outside of everything.
    Assignment,
    /// Kotlin's constants, the same.
    Property,
    /// Kotlin calls the field of the new name `type`.
    Alias,
    /// C: the name is somewhere in a declarator.
    Declared,
    /// C: a function that is defined elsewhere, or a method of a class.
    Prototype,
    /// C: a type that gets another name, or the only one it has.
    Typedef,
}

pub(super) fn form_of(grammar: Grammar, kind: &str) -> Option<Form> {
    match grammar {
        Grammar::Rust => rust(kind),
        Grammar::TypeScript | Grammar::Tsx | Grammar::JavaScript => ecma(kind),
        Grammar::Python => python(kind),
        Grammar::Go => go(kind),
        Grammar::Java => java(kind),
        Grammar::Kotlin => kotlin(kind),
        Grammar::C | Grammar::Cpp => c(kind),
        Grammar::CSharp => csharp(kind),
        Grammar::Ruby => ruby(kind),
        Grammar::Php => php(kind),
        Grammar::Bash => (kind == "function_definition").then_some(Named(Function)),
    }
}

pub(super) fn is_comment(kind: &str) -> bool {
    matches!(kind, "comment" | "line_comment" | "block_comment" | "html_comment")
}

/// What stands before a definition and belongs to it, without being a part of its node.
pub(super) fn leads(kind: &str) -> bool {
    matches!(kind, "attribute_item" | "decorator")
}

fn rust(kind: &str) -> Option<Form> {
    Some(match kind {
        "function_item" | "function_signature_item" | "macro_definition" => Named(Function),
        "struct_item" | "enum_item" | "union_item" | "trait_item" | "type_item" => Named(Type),
        "impl_item" => Form::Implementation,
        "mod_item" => WithBody(Module),
        "const_item" | "static_item" => Named(Constant),
        _ => return None,
    })
}

fn ecma(kind: &str) -> Option<Form> {
    Some(match kind {
        "function_declaration"
        | "generator_function_declaration"
        | "function_signature"
        | "method_definition"
        | "method_signature"
        | "abstract_method_signature" => Named(Function),
        "class_declaration"
        | "abstract_class_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "type_alias_declaration" => Named(Type),
        "internal_module" | "module" => WithBody(Module),
        "variable_declarator" => Form::Variable,
        "public_field_definition" | "field_definition" => Form::Field,
        "assignment_expression" => Form::Assigned,
        _ => return None,
    })
}

fn python(kind: &str) -> Option<Form> {
    Some(match kind {
        "function_definition" => Named(Function),
        "class_definition" => Named(Type),
        "assignment" => Form::Assignment,
        _ => return None,
    })
}

fn go(kind: &str) -> Option<Form> {
    Some(match kind {
        "function_declaration" => Named(Function),
        "method_declaration" => Form::Received,
        "type_spec" | "type_alias" => Named(Type),
        "const_declaration" | "var_declaration" => Form::Group,
        _ => return None,
    })
}

fn java(kind: &str) -> Option<Form> {
    Some(match kind {
        "class_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "record_declaration"
        | "annotation_type_declaration" => Named(Type),
        "method_declaration" | "constructor_declaration" | "compact_constructor_declaration" => Named(Function),
        _ => return None,
    })
}

fn kotlin(kind: &str) -> Option<Form> {
    Some(match kind {
        "class_declaration" | "object_declaration" | "companion_object" => Named(Type),
        "type_alias" => Form::Alias,
        "function_declaration" => Named(Function),
        "property_declaration" => Form::Property,
        _ => return None,
    })
}

/// C++ as well: it has more of them, and none of another meaning.
fn c(kind: &str) -> Option<Form> {
    Some(match kind {
        "function_definition" => Form::Declared,
        "declaration" | "field_declaration" => Form::Prototype,
        "struct_specifier" | "union_specifier" | "enum_specifier" | "class_specifier" => WithBody(Type),
        "concept_definition" | "alias_declaration" => Named(Type),
        "type_definition" => Form::Typedef,
        "namespace_definition" => WithBody(Module),
        "preproc_def" => Named(Constant),
        "preproc_function_def" => Named(Function),
        _ => return None,
    })
}

fn csharp(kind: &str) -> Option<Form> {
    Some(match kind {
        "class_declaration"
        | "struct_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "record_declaration"
        | "delegate_declaration" => Named(Type),
        "method_declaration" | "constructor_declaration" | "destructor_declaration" | "local_function_statement" => {
            Named(Function)
        }
        "namespace_declaration" => WithBody(Module),
        _ => return None,
    })
}

fn ruby(kind: &str) -> Option<Form> {
    Some(match kind {
        "class" => Named(Type),
        "module" => Named(Module),
        "method" | "singleton_method" => Named(Function),
        _ => return None,
    })
}

fn php(kind: &str) -> Option<Form> {
    Some(match kind {
        "class_declaration" | "interface_declaration" | "trait_declaration" | "enum_declaration" => Named(Type),
        "method_declaration" | "function_definition" => Named(Function),
        "namespace_definition" => WithBody(Module),
        _ => return None,
    })
}
