//! Arguments of a tool: what it takes, as a table from which its schema is made and by which a call is checked.

use crate::api::nearest::nearest;
use crate::api::{ApiError, ErrorCode};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// What an argument is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Text,
    /// Some text, one or more.
    Texts,
    /// A whole number, 0 or more.
    Count,
    /// A number, 0 or more.
    Number,
    Flag,
    /// One of these words.
    OneOf(&'static [&'static str]),
}

/// One argument.
#[derive(Clone, Copy, Debug)]
pub(super) struct Param {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) required: bool,
    /// For the model that calls the tool.
    pub(super) about: &'static str,
}

/// An argument that must be given.
pub(super) const fn needs(name: &'static str, kind: Kind, about: &'static str) -> Param {
    Param { name, kind, required: true, about }
}

/// An argument that may be given.
pub(super) const fn takes(name: &'static str, kind: Kind, about: &'static str) -> Param {
    Param { name, kind, required: false, about }
}

/// The JSON Schema of a tool's arguments.
pub(super) fn schema(params: &[Param]) -> Map<String, Value> {
    let property = |param: &Param| {
        let mut value = match param.kind {
            Kind::Text => json!({"type": "string"}),
            Kind::Texts => json!({"type": "array", "items": {"type": "string"}}),
            Kind::Count => json!({"type": "integer", "minimum": 0}),
            Kind::Number => json!({"type": "number", "minimum": 0}),
            Kind::Flag => json!({"type": "boolean"}),
            Kind::OneOf(words) => json!({"type": "string", "enum": words}),
        };
        value["description"] = json!(param.about);
        (param.name.to_owned(), value)
    };
    let properties: Map<String, Value> = params.iter().map(property).collect();
    let required: Vec<&str> = params.iter().filter(|param| param.required).map(|param| param.name).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema.insert("required".to_owned(), json!(required));
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}

/// The arguments of one call, which fit the table.
#[derive(Debug)]
pub(super) struct Args(Map<String, Value>);

fn wrong(message: String, hint: String) -> ApiError {
    ApiError::new(ErrorCode::Usage, message, hint)
}

impl Args {
    /// Checks what was given against the table. `null` is as good as nothing.
    pub(super) fn check(tool: &str, params: &[Param], given: Map<String, Value>) -> Result<Self, ApiError> {
        let mut fit = Map::new();
        for (name, value) in given.into_iter().filter(|(_, value)| !value.is_null()) {
            let Some(param) = params.iter().find(|param| param.name == name) else {
                let known: Vec<&str> = params.iter().map(|param| param.name).collect();
                let hint = match nearest(&name, known.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None if known.is_empty() => "it takes none".to_owned(),
                    None => format!("it takes: {}", known.join(", ")),
                };
                let message = format!("cannot call {tool}: it has no argument `{}`", name.escape_debug());
                return Err(wrong(message, hint));
            };
            let value = param.fit(value).map_err(|(why, hint)| {
                wrong(format!("cannot call {tool}: `{name}` {why}"), hint.unwrap_or_else(|| param.about.to_owned()))
            })?;
            fit.insert(name, value);
        }
        match params.iter().find(|param| param.required && !fit.contains_key(param.name)) {
            Some(param) => {
                Err(wrong(format!("cannot call {tool}: `{}` is missing", param.name), param.about.to_owned()))
            }
            None => Ok(Self(fit)),
        }
    }

    /// Text, empty where it was not given.
    pub(super) fn text(&self, name: &str) -> &str {
        self.given(name).unwrap_or_default()
    }

    /// Text, if it was given.
    pub(super) fn given(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// The same, as one's own.
    pub(super) fn owned(&self, name: &str) -> Option<String> {
        self.given(name).map(str::to_owned)
    }

    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        let all = self.0.get(name).and_then(Value::as_array).into_iter().flatten();
        all.filter_map(|one| one.as_str().map(str::to_owned)).collect()
    }

    pub(super) fn count(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.0.get(name).and_then(Value::as_f64)
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.0.get(name).and_then(Value::as_bool)
    }

    /// A word as the value that it stands for. The table lists such words only.
    pub(super) fn word<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_value(self.0.get(name)?.clone()).ok()
    }
}

impl Param {
    /// The value as it is meant. Models write numbers and truths as text at times.
    fn fit(&self, value: Value) -> Result<Value, (String, Option<String>)> {
        let plain = |why: &str| Err((why.to_owned(), None));
        let text = value.as_str().map(str::trim);
        match self.kind {
            Kind::Text if value.is_string() => Ok(value),
            Kind::Text => plain("is no text"),
            Kind::Texts => match value {
                Value::String(_) => Ok(json!([value])),
                Value::Array(all) if all.iter().all(Value::is_string) => Ok(Value::Array(all)),
                _ => plain("is no list of texts"),
            },
            Kind::Count => match value.as_u64().or_else(|| whole(&value)).or_else(|| text?.parse().ok()) {
                Some(count) => Ok(json!(count)),
                None => plain("is no whole number from 0 on"),
            },
            Kind::Number => {
                match value.as_f64().or_else(|| text?.parse().ok()).filter(|n| n.is_finite() && *n >= 0.0) {
                    Some(number) => Ok(json!(number)),
                    None => plain("is no number from 0 on"),
                }
            }
            Kind::Flag => match value.as_bool().or_else(|| text?.parse().ok()) {
                Some(flag) => Ok(json!(flag)),
                None => plain("is neither true nor false"),
            },
            Kind::OneOf(words) => match text {
                Some(word) if words.contains(&word) => Ok(json!(word)),
                word => {
                    let meant = word.and_then(|word| nearest(word, words.iter().copied()));
                    let hint = meant.map_or_else(
                        || format!("it is one of: {}", words.join(", ")),
                        |meant| format!("did you mean `{meant}`?"),
                    );
                    Err((format!("cannot be {value}"), Some(hint)))
                }
            },
        }
    }
}

/// A whole number that is written with a point: 5.0.
fn whole(value: &Value) -> Option<u64> {
    let number = value.as_f64()?;
    (number >= 0.0 && number.fract() == 0.0 && number < 9e15).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::{Args, Kind, Param, needs, takes};
    use serde_json::{Value, json};

    const PARAMS: [Param; 5] = [
        needs("command", Kind::Text, "what to run"),
        takes("timeout_seconds", Kind::Number, "how long"),
        takes("offset", Kind::Count, "from where"),
        takes("background", Kind::Flag, "whether"),
        takes("status", Kind::OneOf(&["done", "failed"]), "how"),
    ];

    fn check(given: Value) -> Result<Args, (String, String)> {
        let given = given.as_object().cloned().unwrap_or_default();
        Args::check("run", &PARAMS, given).map_err(|error| (error.message, error.hint))
    }

    #[test]
    fn what_is_meant_is_taken_and_what_is_wrong_is_named() {
        let args = check(json!({"command": "ls", "timeout_seconds": "5", "offset": 2.0, "background": "true",
            "status": null}))
        .unwrap();
        assert_eq!((args.text("command"), args.number("timeout_seconds")), ("ls", Some(5.0)));
        assert_eq!((args.count("offset"), args.flag("background"), args.given("status")), (Some(2), Some(true), None));

        let wrong = |given: Value| check(given).unwrap_err();
        assert!(wrong(json!({})).0.contains("`command` is missing"));
        assert_eq!(wrong(json!({"commands": "ls"})).1, "did you mean `command`?");
        assert_eq!(wrong(json!({"quux": 1})).1, "it takes: command, timeout_seconds, offset, background, status");
        assert_eq!(wrong(json!({"command": "ls", "status": "fail"})).1, "did you mean `failed`?");
        for (name, value) in
            [("command", json!(1)), ("timeout_seconds", json!(-1)), ("offset", json!(1.5)), ("background", json!("no"))]
        {
            let mut given = json!({"command": "ls"});
            given[name] = value;
            assert!(wrong(given).0.contains(&format!("`{name}` is n")));
        }
    }
}
