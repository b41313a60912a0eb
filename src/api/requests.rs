//! From calls to the core's requests, and from its answers to replies.

use super::protocol::{ApiCall, ExecStart, SessionNew, SpecFlags, TurnBegin};
use super::queries;
use super::rules;
use super::shapes::{self, Extras};
use crate::backend::Standing;
use crate::backend::docker::same_place;
use crate::config::Rule;
use crate::domain::naming::is_plain;
use crate::domain::{
    Answer, BackendKind, Begin, CallId, CallSource, Common, ConversationId, Deed, EndpointId, EnvId, EnvSpec, Moment,
    Network, Origin, Persistence, Refusal, RefusalKind, Request, Ruled, Scope, SessionId, Size, Span, State, TurnId,
    TurnStatus, TurnTarget,
};
use crate::runtime::calls::Program;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What is taken where a call says nothing.
#[derive(Clone, PartialEq, Debug)]
pub struct Defaults {
    /// A new environment.
    pub spec: EnvSpec,
    /// The endpoint of each backend that can be used here.
    pub endpoints: BTreeMap<BackendKind, EndpointId>,
    /// All endpoints.
    pub known: Vec<KnownEndpoint>,
    /// Which conversation gets which environment; the first that fits.
    pub rules: Vec<Rule>,
    /// Life of a turn's lease.
    pub lease_ttl: Span,
}

/// An endpoint that a flag may name.
#[derive(Clone, PartialEq, Debug)]
pub struct KnownEndpoint {
    /// Of which backend.
    pub backend: BackendKind,
    /// Its name.
    pub endpoint: EndpointId,
    /// How it is listed.
    pub standing: Standing,
    /// Its URL, where it has one.
    pub address: Option<String>,
}

impl Default for Defaults {
    fn default() -> Self {
        let spec = EnvSpec::local();
        let endpoints = BTreeMap::from([(spec.backend, spec.endpoint.clone())]);
        let known = endpoints
            .iter()
            .map(|(backend, endpoint)| KnownEndpoint {
                backend: *backend,
                endpoint: endpoint.clone(),
                standing: Standing::Listed,
                address: None,
            })
            .collect();
        Self { spec, endpoints, known, rules: Vec::new(), lease_ttl: Span::seconds(3600) }
    }
}

/// The request that a call stands for; `None` for one that the core does not know of. `ids` gives a fresh id at
/// each call.
///
/// # Errors
/// An unknown or ambiguous name, or flags that contradict each other.
pub fn to_request(
    state: &State,
    call: &ApiCall,
    ids: &mut dyn FnMut() -> String,
    defaults: &Defaults,
) -> Result<Option<Request>, Refusal> {
    let conversation = |text: &str| queries::conversation(state, text).map(|found| found.id.clone());
    Ok(Some(match call {
        ApiCall::Shutdown(params) => Request::Shutdown { keep: params.keep },
        ApiCall::EnvNew(params) => {
            if let Some(name) = &params.name {
                check_name(name)?;
            }
            let (spec, _) = spec(&params.spec, defaults)?;
            Request::NewEnvironment { id: EnvId(ids()), name: params.name.clone(), spec: Box::new(spec) }
        }
        ApiCall::EnvStart(params) => Request::Start(state.resolve(&params.env)?),
        ApiCall::EnvStop(params) => {
            let (env, force) = (state.resolve(&params.env)?, params.force);
            match origin(state, &env) {
                Origin::Hermes | Origin::Foreign if params.yes => Request::EndOther { env, deed: Deed::Stop, force },
                _ => Request::Stop { env, force },
            }
        }
        ApiCall::EnvRemove(params) => {
            let (env, force) = (state.resolve(&params.env)?, params.force);
            match origin(state, &env) {
                Origin::Foreign if !params.container => Request::Forget(env),
                Origin::Hermes | Origin::Foreign if params.yes => Request::EndOther { env, deed: Deed::Remove, force },
                _ => Request::Remove { env, force, data: params.data },
            }
        }
        ApiCall::EnvPin(params) => Request::Pin(state.resolve(&params.env)?),
        ApiCall::EnvUnpin(params) => Request::Unpin(state.resolve(&params.env)?),
        ApiCall::EnvTakeOver(params) => Request::TakeOver(state.resolve(&params.env)?),
        ApiCall::EnvGiveBack(params) => Request::GiveBack(state.resolve(&params.env)?),
        ApiCall::EnvExtend(params) => {
            let by = params.seconds.map(|seconds| span("the extension", seconds)).transpose()?;
            if by == Some(Span::ZERO) {
                return Err(usage("cannot extend by 0 seconds", "give a time above 0, or none for one idle time"));
            }
            Request::Extend { env: state.resolve(&params.env)?, by }
        }
        ApiCall::EnvRename(params) => {
            check_name(&params.name)?;
            Request::Rename { env: state.resolve(&params.env)?, name: params.name.clone() }
        }
        ApiCall::ConversationEnd(params) => Request::EndConversation(conversation(&params.conversation)?),
        ApiCall::TurnBegin(params) => begin_turn(state, params, ids, defaults)?,
        ApiCall::TurnTouch(params) => Request::TouchTurn(conversation(&params.conversation)?),
        ApiCall::TurnEnd(params) => {
            let status = params.status.unwrap_or(TurnStatus::Done);
            if status == TurnStatus::Running {
                return Err(usage("cannot end a turn as `running`", "the status is done, failed or interrupted"));
            }
            // Also of a conversation that was never seen: a hook must be able to end what it does not know to be open.
            Request::EndTurn { conversation: ConversationId::new(&params.conversation), status }
        }
        ApiCall::ExecStart(params) => begin_call(state, params, ids)?,
        ApiCall::SessionNew(params) => open_session(state, params, ids)?,
        ApiCall::SessionKill(params) => Request::KillSession(queries::session(state, &params.session)?),
        ApiCall::Reap(_) => Request::Reap,
        _ => return Ok(None),
    }))
}

fn origin(state: &State, env: &EnvId) -> Origin {
    state.environments.get(env).map_or(Origin::Managed, |env| env.origin)
}

fn usage(message: impl Into<String>, hint: impl Into<String>) -> Refusal {
    Refusal::new(RefusalKind::Usage, message, hint)
}

fn check_name(name: &str) -> Result<(), Refusal> {
    if is_plain(name) {
        Ok(())
    } else {
        Err(usage(
            format!("`{}` cannot be the name of an environment", name.escape_debug()),
            "a name is 1 to 64 letters, digits, `-`, `_` or `.`, and begins with a letter or digit",
        ))
    }
}

/// An id that comes from outside: anything a terminal can show.
fn check_conversation(id: &str) -> Result<ConversationId, Refusal> {
    if id.trim().is_empty() || id.len() > 256 || id.chars().any(char::is_control) {
        return Err(usage(
            format!("`{}` cannot be the id of a conversation", id.escape_debug()),
            "an id is 1 to 256 bytes without control characters",
        ));
    }
    Ok(ConversationId::new(id))
}

/// A span from a number of seconds: up to a hundred years, so that no sum overflows.
fn span(what: &str, seconds: f64) -> Result<Span, Refusal> {
    const LONGEST: f64 = 100.0 * 365.0 * 86_400.0;
    if (0.0..=LONGEST).contains(&seconds) {
        Ok(Span((seconds * 1000.0).round() as u64))
    } else {
        Err(usage(format!("{what} cannot be {seconds} seconds"), "give a number of seconds from 0 on"))
    }
}

/// The endpoint that a flag names, by its name or its URL.
fn known_endpoint<'a>(
    text: &str,
    backend: Option<BackendKind>,
    defaults: &'a Defaults,
) -> Result<&'a KnownEndpoint, Refusal> {
    let url = |one: &KnownEndpoint| one.address.as_ref().is_some_and(|own| same_place(own, text));
    let of_kind = |one: &&KnownEndpoint| backend.is_none_or(|backend| backend == one.backend);
    let all = || defaults.known.iter().filter(of_kind);
    if let Some(found) = all().find(|one| one.endpoint.as_str() == text).or_else(|| all().find(|one| url(one))) {
        return Ok(found);
    }
    let listed = all().filter(|one| one.standing == Standing::Listed);
    let listed: Vec<&str> = listed.map(|one| one.endpoint.as_str()).collect();
    let whose = backend.map(|backend| format!(" of the backend `{}`", shapes::word(backend))).unwrap_or_default();
    Err(usage(
        format!("there is no endpoint `{text}`{whose}; there is {}", listed.join(", ")),
        "name it in the configuration (endpoints), or start the host with --endpoint URL",
    ))
}

/// The spec that flags ask for on top of the defaults, and the names of the fields that were set.
fn spec(flags: &SpecFlags, defaults: &Defaults) -> Result<(EnvSpec, Vec<String>), Refusal> {
    let mut spec = defaults.spec.clone();
    let mut explicit = Vec::new();
    let mut set = |name: &str| explicit.push(name.to_owned());
    // An image is one of containers; a place that is named says of which kind it is.
    let implied = (flags.image.is_some() && flags.endpoint.is_none()).then_some(BackendKind::Docker);
    if let Some(backend) = flags.backend.or(implied.filter(|kind| defaults.endpoints.contains_key(kind))) {
        if flags.backend.is_some() {
            set("backend");
        }
        spec.backend = backend;
        let Some(endpoint) = defaults.endpoints.get(&backend) else {
            let known: Vec<String> = defaults.endpoints.keys().map(shapes::word).collect();
            return Err(usage(
                format!("there is no backend `{}` here", shapes::word(backend)),
                format!("use --backend {}", known.join(" or ")),
            ));
        };
        spec.endpoint = endpoint.clone();
    }
    if let Some(endpoint) = &flags.endpoint {
        set("endpoint");
        let known = known_endpoint(endpoint, flags.backend, defaults)?;
        // An endpoint says of which kind it is.
        spec.backend = known.backend;
        spec.endpoint = match &known.standing {
            Standing::SameAs(other) => other.clone(),
            Standing::Listed | Standing::Unlisted => known.endpoint.clone(),
        };
    }
    if let Some(image) = &flags.image {
        set("image");
        if spec.backend == BackendKind::Local {
            return Err(usage("the local backend has no images", "leave --image out"));
        }
        spec.image = Some(image.clone());
    }
    match spec.backend {
        // A configured image is for those that have images.
        BackendKind::Local => spec.image = None,
        BackendKind::Docker if spec.image.as_deref().is_none_or(str::is_empty) => {
            return Err(usage(
                "a container needs an image, and none was named",
                "name one with --image, or set env.image in the configuration",
            ));
        }
        BackendKind::Docker => {}
    }
    if let Some(persistence) = flags.persistence {
        set("persistence");
        if persistence == Persistence::Unknown {
            return Err(usage("an environment is made persistent or ephemeral", "say which"));
        }
        spec.persistence = persistence;
    }
    if let Some(scope) = flags.scope {
        set("scope");
        spec.scope = scope;
    }
    if spec.scope == Scope::Turn && spec.persistence == Persistence::Persistent {
        return Err(usage(
            "a persistent environment cannot have the scope `turn`: it outlives turns",
            "use --ephemeral --scope turn, or --persistent --scope session",
        ));
    }
    if let Some(retention) = flags.retention {
        set("retention");
        if spec.persistence == Persistence::Ephemeral {
            return Err(usage(
                "a retention has no meaning for an ephemeral environment: it is removed when its scope ends",
                "leave --retention out, or use --persistent",
            ));
        }
        spec.retention = retention;
    }
    if let Some(seconds) = flags.idle_seconds {
        set("idle");
        spec.idle = span("the idle time", seconds)?;
    }
    if let Some(mounts) = &flags.mounts {
        set("mounts");
        for mount in mounts {
            if !mount.source.starts_with('/') || !mount.target.starts_with('/') {
                return Err(usage(
                    format!("cannot mount {}:{}: both paths must be absolute", mount.source, mount.target),
                    "write SRC:DST[:ro] with paths that begin with /",
                ));
            }
        }
        spec.mounts.clone_from(mounts);
    }
    if let Some(env) = &flags.env {
        set("env");
        if let Some(name) = env.keys().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
            return Err(usage(
                format!("`{}` cannot be the name of a variable", name.escape_debug()),
                "write NAME=VALUE",
            ));
        }
        if let Some((name, _)) = env.iter().find(|(_, value)| value.contains('\0')) {
            return Err(usage(format!("the value of {name} contains a NUL byte"), "leave it out"));
        }
        spec.env.extend(env.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    if let Some(network) = flags.network {
        set("network");
        spec.network = network;
    }
    if flags.on_host {
        set("isolation");
        if spec.backend != BackendKind::Local {
            return Err(usage(
                "a plain shell of the host is of the backend `local` only",
                "use --backend local --on-host, or leave --on-host out",
            ));
        }
        spec.on_host = true;
        spec.network = Network::Host;
    }
    if let Some(cpus) = flags.cpus {
        set("cpus");
        if !(0.01..=4096.0).contains(&cpus) {
            return Err(usage(format!("cannot limit to {cpus} cores"), "give a number of cores from 0.01 on"));
        }
        spec.cpu_millis = Some((cpus * 1000.0).round() as u32);
    }
    if let Some(bytes) = flags.memory_bytes {
        set("memory");
        if bytes < 4 * 1024 * 1024 {
            return Err(usage(format!("cannot limit memory to {bytes} bytes"), "give at least 4M"));
        }
        spec.memory_bytes = Some(bytes);
    }
    Ok((spec, explicit))
}

/// What a turn runs in where no environment is named: flags win over the rule of its conversation, and that over the
/// defaults.
fn target(state: &State, params: &TurnBegin, defaults: &Defaults) -> Result<TurnTarget, Refusal> {
    let Some(rule) = rules::rule(state, params, &defaults.rules)? else {
        let (spec, explicit) = spec(&params.spec, defaults)?;
        return Ok(TurnTarget::Spec { spec: Box::new(spec), explicit });
    };
    let (ruled, _) = spec(&rules::flags(&rule.given), defaults).map_err(|refusal| rules::blame(rule, refusal))?;
    let by_rule = Defaults { spec: ruled, ..defaults.clone() };
    let (spec, explicit) = spec(&params.spec, &by_rule).map_err(|refusal| rules::blame(rule, refusal))?;
    // Whoever asks for something else than all the others share gets one of its own.
    let common = rule.given.env_name.as_ref().filter(|_| spec == by_rule.spec);
    let common = common.map(|name| Common { name: name.clone(), anywhere: !rule.names_a_place() });
    Ok(TurnTarget::Ruled(Box::new(Ruled { rule: rule.to_string(), common, spec, explicit })))
}

fn begin_turn(
    state: &State,
    params: &TurnBegin,
    ids: &mut dyn FnMut() -> String,
    defaults: &Defaults,
) -> Result<Request, Refusal> {
    let target = match &params.env_name {
        Some(_) if params.spec != SpecFlags::default() => {
            return Err(usage(
                "cannot begin a turn both in a named environment and with flags for a new one",
                "give --env-name alone, or leave it out",
            ));
        }
        Some(name) => TurnTarget::Named(name.clone()),
        None => target(state, params, defaults)?,
    };
    let lease_ttl = match params.lease_ttl_seconds {
        None => defaults.lease_ttl,
        Some(seconds) => span("the life of the lease", seconds)?,
    };
    if lease_ttl == Span::ZERO {
        return Err(usage("a lease cannot live for 0 seconds", "give --lease-ttl a number above 0"));
    }
    Ok(Request::BeginTurn {
        turn: TurnId(ids()),
        conversation: check_conversation(&params.conversation)?,
        title: params.title.clone(),
        kind: params.kind.clone(),
        prompt: params.prompt.clone(),
        target,
        new_env: EnvId(ids()),
        new_session: SessionId(ids()),
        lease_ttl,
    })
}

fn begin_call(state: &State, params: &ExecStart, ids: &mut dyn FnMut() -> String) -> Result<Request, Refusal> {
    let (env, conversation) = match (&params.env, &params.conversation) {
        (None, None) => {
            return Err(usage(
                "no environment was named",
                "name one, or a conversation: exec ENV -- …, or exec --conversation ID -- …",
            ));
        }
        (Some(_), Some(_)) => {
            return Err(usage("an environment and a conversation were named", "name one of them"));
        }
        (Some(env), None) => (Some(state.resolve(env)?), None),
        (None, Some(id)) => (None, Some(queries::conversation(state, id)?.id.clone())),
    };
    let (command, source) = match &params.shell {
        Some(_) if !params.argv.is_empty() => {
            return Err(usage("both a script and an argument vector were given", "give one of them"));
        }
        Some(script) => (script.clone(), CallSource::Shell),
        None => (Program::Argv(params.argv.clone()).text(), CallSource::Exec),
    };
    if params.shell.is_none() && params.argv.first().is_none_or(String::is_empty) {
        return Err(usage("no command was given", "put it after `--`"));
    }
    if params.argv.iter().chain(&params.shell).any(|word| word.contains('\0')) {
        return Err(usage("the command contains a NUL byte, which no program can be given", "leave it out"));
    }
    let timeout = params.timeout_seconds.map(|seconds| span("the timeout", seconds)).transpose()?;
    if timeout == Some(Span::ZERO) {
        return Err(usage("a timeout cannot be 0 seconds", "give a number above 0, or none"));
    }
    Ok(Request::BeginCall { call: CallId(ids()), env, conversation, command, cwd: params.cwd.clone(), source })
}

fn open_session(state: &State, params: &SessionNew, ids: &mut dyn FnMut() -> String) -> Result<Request, Refusal> {
    let conversation = params.conversation.as_ref().map(|id| queries::conversation(state, id)).transpose()?;
    if params.argv.first().is_some_and(String::is_empty) {
        return Err(usage("the first word of a program is its name, and cannot be empty", "put it after `--`"));
    }
    if params.argv.iter().any(|word| word.contains('\0')) {
        return Err(usage("the program contains a NUL byte, which none can be given", "leave it out"));
    }
    if params.where_agent && !params.argv.is_empty() {
        let message = "a shell begins where the agent is, and a program was named";
        return Err(usage(message, "leave one of them out"));
    }
    let env = state.resolve(&params.env)?;
    let conversation = conversation.map(|found| found.id.clone());
    let begin = if params.where_agent { state.where_agent_is(&env, conversation.as_ref())? } else { Begin::Usual };
    Ok(Request::OpenSession {
        session: SessionId(ids()),
        env,
        conversation,
        program: params.argv.clone(),
        begin,
        size: Size::default(),
    })
}

/// The reply that an answer of the core stands for.
///
/// # Errors
/// The core refused.
pub fn answer_value(
    state: &State,
    now: Moment,
    call: &ApiCall,
    answer: &Answer,
    extras: &Extras,
) -> Result<Value, Refusal> {
    let fields = match answer {
        Answer::Refused(refusal) => return Err(refusal.clone()),
        Answer::Done if matches!(call, ApiCall::Reap(_)) => queries::verdicts(state, now),
        Answer::Done => json!({"done": true}),
        Answer::Environment(id) => match state.environments.get(id) {
            Some(env) => json!({"environment": shapes::environment(state, now, env, &queries::extra(extras, env))}),
            None => json!({"environment": null, "removed": id}),
        },
        Answer::Turn { turn, number, conversation, env, session, sandbox, generation } => json!({
            "turn": turn, "number": number, "conversation": conversation, "environment": env, "session": session,
            "sandbox": {"id": sandbox, "generation": generation},
            "rule": state.conversations.get(conversation).and_then(|found| found.rule.as_ref()),
        }),
        Answer::CallStarted(id) => json!({"call": id}),
        Answer::Session(id) => match state.sessions.get(id) {
            Some(session) => json!({"session": shapes::session(session, queries::attached(extras, id))}),
            None => json!({"session": null, "ended": id}),
        },
    };
    Ok(shapes::reply(fields))
}
