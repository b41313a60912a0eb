//! Environments, their life cycle, leases, turns and the reaper.
//!
//! Deterministic: no clock, no files, no tasks. All change enters through [`State::apply`].

mod adoption;
pub mod begin;
pub mod books;
mod calls;
pub mod choices;
mod consent;
mod conversations;
pub mod effect;
mod endpoints;
pub mod environment;
pub mod event;
pub mod evidence;
mod explain;
pub mod id;
mod idle;
pub mod lease;
mod leases;
pub mod lifecycle;
pub mod moment;
pub mod naming;
pub mod observed;
mod orders;
mod others;
mod outbox;
pub mod reaper;
pub mod request;
mod resuming;
pub mod session;
mod sessions;
mod shutdown;
pub mod state;
mod taken;
mod teardown;
pub mod told;
pub mod turn;
mod turns;
pub mod verdict;
mod waiting;
pub mod watched;
pub mod words;

pub use begin::{Begin, Kept};
pub use choices::{Choices, Chosen};
pub use effect::{Deed, Effect, Notice, NoticeKind, Record};
pub use environment::{
    Activity, ActivityKind, BackendKind, Ending, EnvSpec, Environment, Failure, Mount, Network, Origin, Persistence,
    Phase, Retention, Scope,
};
pub use event::{Event, FailureKind, FoundSandbox, SandboxState};
pub use evidence::{Evidence, LiveProcess};
pub use id::{CallId, ConversationId, EndpointId, EnvId, Generation, ReplyTo, SandboxId, SessionId, TurnId};
pub use lease::{Holder, Lease, LeaseKind};
pub use moment::{Moment, Span};
pub use request::{Answer, Common, Refusal, RefusalKind, Request, Ruled, TurnTarget};
pub use session::{Session, SessionState, Size};
pub use state::State;
pub use taken::PATIENCE;
pub use told::{Told, ToldCall, ToldTurn};
pub use turn::{Call, CallSource, Conversation, TakenOver, Turn, TurnSource, TurnStatus};
pub use verdict::{Fact, Verdict, VerdictKind};
pub use watched::{Allowance, Consent, HermesReap, Leak, LeakKind, TheirRetention, Watched};
