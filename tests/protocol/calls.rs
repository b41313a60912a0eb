//! What may be asked for: the methods and parameters of the schema are those that the program takes.

use super::schema::shipped;
use hermes_tui::api::ApiCall;
use hermes_tui::domain::NoticeKind;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A name that is like no other.
const UNKNOWN: &str = "0123456789abcdefghijklmnopqrstuvwxyz";

/// The names that a hint lists after its colon.
fn listed(hint: &str) -> BTreeSet<String> {
    let names = hint.split_once(": ").map(|(_, names)| names).unwrap_or_default();
    names.split(", ").filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn names(object: &Value) -> BTreeSet<String> {
    object.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
}

/// The parameters that the program takes, as it says them itself.
fn taken(method: &str, params: Value) -> BTreeSet<String> {
    let error = ApiCall::parse(method, Some(params)).unwrap_err();
    assert!(error.message.contains("it has no parameter"), "{method}: {error:?}");
    listed(&error.hint)
}

#[test]
fn the_schema_has_the_methods_that_there_are() {
    let known = listed(&ApiCall::parse(UNKNOWN, None).unwrap_err().hint);
    let schema = shipped();
    let methods = schema["$defs"]["request"]["properties"]["method"]["enum"].as_array().unwrap();
    let documented: BTreeSet<String> = methods.iter().map(|name| name.as_str().unwrap().to_owned()).collect();
    let all: BTreeSet<String> = known.into_iter().chain(["hello".to_owned()]).collect();
    assert_eq!(documented, all);
    for method in &all {
        for part in ["params", "result"] {
            assert!(schema["$defs"].get(format!("{method}.{part}")).is_some(), "no {method}.{part}");
        }
    }
}

#[test]
fn the_schema_has_the_parameters_that_there_are() {
    let schema = shipped();
    for method in listed(&ApiCall::parse(UNKNOWN, None).unwrap_err().hint) {
        let documented = names(&schema["$defs"][format!("{method}.params")]["properties"]);
        assert_eq!(taken(&method, json!({UNKNOWN: 1})), documented, "{method}");
    }
    let spec = names(&schema["$defs"]["spec"]["properties"]);
    assert_eq!(taken("env.new", json!({"spec": {UNKNOWN: 1}})), spec);
}

#[test]
fn the_schema_has_the_kinds_of_events_that_there_are() {
    let error = serde_json::from_value::<NoticeKind>(json!(UNKNOWN)).unwrap_err().to_string();
    let known: BTreeSet<String> = error.split('`').skip(3).step_by(2).map(str::to_owned).collect();
    let schema = shipped();
    let documented = schema["$defs"]["event_kind"]["enum"].as_array().unwrap().iter();
    assert_eq!(documented.map(|kind| kind.as_str().unwrap().to_owned()).collect::<BTreeSet<_>>(), known);
}
