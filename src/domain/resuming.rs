//! Sessions of a host that died: where the backend kept them running, the next host goes on with them.

use super::effect::{Effect, Record};
use super::environment::Phase;
use super::id::{EnvId, SessionId};
use super::outbox::Outbox;
use super::session::{Session, SessionState};
use super::state::State;

impl State {
    /// Takes in the sessions that the journal remembers, after the environments. Whether one that ran still does is
    /// known only once its sandbox was found and the backend was asked.
    pub(super) fn restore_sessions(&mut self, out: &mut Outbox, sessions: Vec<Session>) {
        for mut session in sessions {
            let id = session.id.clone();
            if !self.environments.contains_key(&session.env) {
                out.save(Record::Session(id));
                continue;
            }
            if !session.has_ended() {
                session.state = SessionState::Opening;
                self.resuming.insert(id.clone(), false);
            }
            self.sessions.entry(id).or_insert(session);
        }
    }

    /// Its sandbox was found. Where that runs on as it was, its sessions are asked for; else they are over.
    pub(super) fn resume_sessions(&mut self, out: &mut Outbox, id: &EnvId) {
        let Some(env) = self.environments.get(id) else { return };
        let of_env = |session: &SessionId| self.sessions.get(session).is_some_and(|session| session.env == *id);
        let waiting: Vec<SessionId> =
            self.resuming.iter().filter(|(s, asked)| !**asked && of_env(s)).map(|(s, _)| s.clone()).collect();
        let (runs, generation, sandbox) = (env.phase == Phase::Ready, env.generation, env.sandbox.clone());
        for session in waiting {
            self.resuming.insert(session.clone(), true);
            let Some(known) = self.sessions.get(&session) else { continue };
            match sandbox.clone().filter(|_| runs && known.generation == generation) {
                Some(sandbox) => out.send(Effect::OpenSession {
                    session,
                    env: id.clone(),
                    generation,
                    sandbox,
                    program: known.program.clone(),
                    begin: known.begin.clone(),
                    size: known.size,
                    resume: true,
                }),
                None => self.close_unopened(out, &session, "its sandbox ended while no host ran"),
            }
        }
    }
}
