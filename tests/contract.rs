//! What every backend promises, run against each of them. A new backend is one more line at the end.

#[path = "docker/engine.rs"]
mod engine;
#[cfg(target_os = "linux")]
#[path = "docker/podman.rs"]
mod podman;
#[path = "contract/subjects.rs"]
mod subjects;
#[path = "contract/suite.rs"]
mod suite;

/// One test for each promise and backend.
macro_rules! contract {
    ($name:ident, $subject:path, [$($promise:ident),* $(,)?]) => {
        mod $name {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $promise() {
                    let limit = super::suite::LIMIT;
                    let Some(subject) = $subject().await else { return };
                    tokio::time::timeout(limit, super::suite::$promise(&subject)).await.expect("in time");
                    super::subjects::Subject::end(&subject).await;
                }
            )*
        }
    };
}

macro_rules! for_backend {
    ($name:ident, $subject:path $(, $more:ident)* $(,)?) => {
        contract!(
            $name,
            $subject,
            [
                provisioning_twice_yields_one_sandbox,
                provisioning_at_once_yields_one_sandbox,
                removing_a_missing_sandbox_succeeds,
                a_list_shows_only_what_is_ours,
                closing_a_session_leaves_no_process_behind,
                the_size_is_right_at_the_first_byte_and_after_each_resize,
                a_mebibyte_through_a_terminal_arrives_whole_and_in_order,
                a_mebibyte_through_pipes_arrives_whole_and_in_order,
                watching_reports_an_end_from_outside,
                a_dead_backend_is_unreachable_and_never_an_empty_list,
                stop_and_start_keep_the_id_and_the_files_and_grow_the_generation,
                a_stopped_sandbox_takes_no_session_and_no_command,
                $($more,)*
            ]
        );
    };
}

for_backend!(
    fake,
    super::subjects::Fake::new,
    a_new_host_finds_running_sessions_again,
    dropping_the_writer_sends_nothing,
);
#[cfg(target_os = "linux")]
for_backend!(
    local,
    super::subjects::Local::new,
    a_new_host_finds_running_sessions_again,
    dropping_the_writer_sends_nothing,
    what_leads_to_a_shell_becomes_it,
);
// An engine lets nobody take over an exec that somebody else has started.
#[cfg(target_os = "linux")]
for_backend!(docker, super::subjects::Engine::docker, what_leads_to_a_shell_becomes_it);
#[cfg(target_os = "linux")]
for_backend!(rootful_podman, super::subjects::Engine::podman, what_leads_to_a_shell_becomes_it);
#[cfg(target_os = "linux")]
for_backend!(rootless_podman, super::subjects::Engine::rootless_podman, what_leads_to_a_shell_becomes_it);
