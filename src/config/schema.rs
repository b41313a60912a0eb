//! The JSON Schema of the configuration, from the table of settings: editors check and complete a file with it.

use super::rules;
use super::settings::{BINDINGS, Kind, PROFILES, REAP, SETTINGS, Setting};
use serde_json::{Map, Value, json};

/// The schema (JSON Schema 2020-12).
#[must_use]
pub fn schema() -> Value {
    let mut top = section("Settings of hermes-tui.");
    for setting in SETTINGS {
        put(&mut top, setting.path, one(setting));
    }
    for (path, help, _) in BINDINGS {
        let keys = json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]});
        put(&mut top, path, json!({"type": "object", "description": help, "additionalProperties": keys}));
    }
    let (path, help, _) = PROFILES;
    let profile = json!({"type": "object", "properties": {"reap": {"enum": REAP}}, "additionalProperties": false});
    put(&mut top, path, json!({"type": "object", "description": help, "additionalProperties": profile}));
    put(&mut top, rules::PATH, json!({"type": "array", "description": rules::HELP.join(" "), "items": rule()}));
    let mut all = Map::new();
    all.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    all.insert("title".to_owned(), json!("config.toml of hermes-tui"));
    if let Value::Object(top) = top {
        all.extend(top);
    }
    Value::Object(all)
}

/// One rule.
fn rule() -> Value {
    let mut rule = section("");
    for (name, kind, help) in rules::keys() {
        let mut schema = match kind {
            Some(kind) => values(kind),
            None => {
                json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]})
            }
        };
        schema["description"] = json!(help);
        rule["properties"][name] = schema;
    }
    rule
}

fn section(help: &str) -> Value {
    let mut value = json!({"type": "object", "properties": {}, "additionalProperties": false});
    if !help.is_empty() {
        value["description"] = json!(help);
    }
    value
}

/// Puts a schema at a path like `history.lines`.
fn put(into: &mut Value, path: &str, schema: Value) {
    match path.split_once('.') {
        None => into["properties"][path] = schema,
        Some((first, rest)) => {
            let inner = &mut into["properties"][first];
            if inner.is_null() {
                *inner = section("");
            }
            put(inner, rest, schema);
        }
    }
}

fn one(setting: &Setting) -> Value {
    let mut schema = values(setting.kind);
    schema["description"] = json!(setting.help);
    schema["default"] = serde_json::to_value(super::settings::variable_value(setting.default)).unwrap_or_default();
    schema
}

/// The values of a kind.
fn values(kind: Kind) -> Value {
    match kind {
        Kind::Words(words) => json!({"enum": words}),
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Number { from, to } => json!({"type": "integer", "minimum": from, "maximum": to}),
        Kind::Text | Kind::Key => json!({"type": "string"}),
        Kind::Texts => json!({"type": "array", "items": {"type": "string"}}),
        Kind::Endpoints => {
            let parts = json!({"url": {"type": "string"}, "certificates": {"type": "string"}});
            let with_certificates =
                json!({"type": "object", "properties": parts, "required": ["url"], "additionalProperties": false});
            json!({"type": "object", "additionalProperties": {"anyOf": [{"type": "string"}, with_certificates]}})
        }
    }
}
