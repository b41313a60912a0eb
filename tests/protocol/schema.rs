//! The schema, closed: what a reply has and the schema does not name is an error here, although readers pass over it.

use serde_json::{Value, json};
use std::path::Path;

/// The schema as it is shipped.
pub fn shipped() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/protocol.schema.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The schema in which no object may have more than it names.
pub struct Closed(Value);

impl Closed {
    pub fn new() -> Self {
        let mut document = shipped();
        close(&mut document);
        Self(document)
    }

    /// Fails the test unless the value has this shape, which is named as in `$defs`.
    pub fn check(&self, shape: &str, value: &Value) {
        let wrong = self.faults(shape, value);
        assert!(wrong.is_empty(), "not of the shape {shape}:\n{}\nin {value}", wrong.join("\n"));
    }

    fn faults(&self, shape: &str, value: &Value) -> Vec<String> {
        assert!(self.0["$defs"].get(shape).is_some(), "the schema has no {shape}");
        let one = json!({"$schema": self.0["$schema"], "$ref": format!("#/$defs/{shape}"), "$defs": self.0["$defs"]});
        let options = jsonschema::options().should_validate_formats(true);
        let validator = options.build(&one).expect("the schema is sound");
        validator.iter_errors(value).map(|fault| format!("{}: {fault}", fault.instance_path())).collect()
    }
}

fn close(node: &mut Value) {
    match node {
        Value::Object(map) => {
            let is_object =
                |kind: &Value| kind == "object" || kind.as_array().is_some_and(|all| all.contains(&json!("object")));
            if map.get("type").is_some_and(is_object) && map.get("properties").is_some_and(Value::is_object) {
                map.insert("additionalProperties".to_owned(), json!(false));
            }
            map.values_mut().for_each(close);
        }
        Value::Array(all) => all.iter_mut().for_each(close),
        _ => {}
    }
}

#[test]
fn the_schema_is_one() {
    jsonschema::meta::validate(&shipped()).expect("a schema of JSON Schema 2020-12");
}

#[test]
fn a_field_that_is_not_documented_is_caught() {
    let closed = Closed::new();
    let endpoint = json!({"backend": "local", "url": "local", "state": "ok", "detail": ""});
    let reply = |endpoint: Value| json!({"schema": 1, "environments": [], "endpoints": [endpoint]});
    closed.check("env.list.result", &reply(endpoint.clone()));
    let mut more = endpoint.clone();
    more["colour"] = json!("red");
    assert!(closed.faults("env.list.result", &reply(more)).join("").contains("colour"));
    let mut less = endpoint.clone();
    less.as_object_mut().unwrap().remove("state");
    assert!(closed.faults("env.list.result", &reply(less)).join("").contains("state"));
    let mut other = endpoint;
    other["state"] = json!("asleep");
    assert!(closed.faults("env.list.result", &reply(other)).join("").contains("asleep"));
}
