//! What commands printed, for those who ask for it: as far as the host keeps it.

use super::shapes::clean;
use crate::app::Model;
use crate::app::feed::CallOutput;
use crate::domain::CallId;
use serde_json::{Value, json};

/// Adds `output` to each command of an answer to `turn.show`; null where nothing is kept of it.
pub fn add(model: &Model, reply: &mut Value) {
    let commands = reply["turn"]["commands"].as_array_mut().into_iter().flatten();
    for command in commands {
        let id = CallId::new(command["id"].as_str().unwrap_or_default());
        let env = model.state.calls.get(&id).and_then(|call| model.state.environments.get(call.env.as_ref()?));
        command["output"] = json!(model.work.feeds.of(&id).map(|output| clean(&text(output), env)));
    }
}

/// Its lines, and how many are left out where some are.
fn text(output: &CallOutput) -> String {
    let mut all = String::new();
    for index in 0..output.lines() {
        match output.line_at(index) {
            Some(line) => all = all + &line.text + "\n",
            None if index == output.dropped_at() => all += &format!("[{} lines were not kept]\n", output.dropped()),
            None => {}
        }
    }
    all
}
