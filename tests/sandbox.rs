//! The local sandbox is one: what programs inside can see and do, and what is left when it ends.
//!
//! Each test runs as whoever runs the suite, and once more as an ordinary user when that is root.
#![cfg(target_os = "linux")]

#[path = "sandbox/host.rs"]
mod host;
#[path = "sandbox/inside.rs"]
mod inside;
#[path = "sandbox/isolation.rs"]
mod isolation;
#[path = "sandbox/lifecycle.rs"]
mod lifecycle;

macro_rules! sandbox_tests {
    ($($module:ident::$name:ident),* $(,)?) => {
        mod as_caller {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    let host = super::host::Host::new();
                    let run = super::$module::$name(&host);
                    tokio::time::timeout(super::host::LIMIT, run).await.expect("in time");
                    host.end().await;
                }
            )*
        }

        mod as_ordinary_user {
            $(
                #[test]
                fn $name() {
                    super::host::again_as_ordinary_user(concat!("as_caller::", stringify!($name)));
                }
            )*
        }
    };
}

sandbox_tests![
    isolation::only_its_own_processes_are_seen,
    isolation::nothing_but_home_workspace_and_tmp_can_be_written,
    isolation::a_process_of_the_host_can_neither_be_seen_nor_signalled,
    isolation::programs_have_no_privileges_and_gain_none,
    isolation::forbidden_system_calls_are_refused,
    isolation::sockets_of_the_host_cannot_be_reached,
    isolation::files_of_the_host_and_of_other_environments_cannot_be_reached,
    isolation::a_mount_that_holds_our_own_folders_does_not_show_them,
    isolation::there_is_no_network_unless_asked_for,
    isolation::nothing_of_the_hosts_environment_leaks,
    isolation::processes_are_limited,
    lifecycle::after_the_end_nothing_is_left_on_the_host,
    lifecycle::a_tree_that_ignores_every_signal_ends_all_the_same,
    lifecycle::killing_the_watcher_ends_the_sandbox,
    lifecycle::a_shell_that_missed_the_hang_up_is_told_again,
    lifecycle::programs_hear_every_signal,
    lifecycle::one_whose_record_was_deleted_ends_all_the_same,
    lifecycle::one_that_does_not_answer_runs_on_in_the_list_and_can_be_stopped,
    lifecycle::without_a_host_it_ends_by_itself,
    lifecycle::with_a_host_it_stays,
    lifecycle::the_private_tmp_goes_and_the_files_stay,
    lifecycle::evidence_names_what_lives_and_not_what_waits,
    lifecycle::a_command_left_in_the_background_counts_once_its_call_is_over,
    lifecycle::a_killed_command_takes_its_children_along,
    lifecycle::a_shell_keeps_its_state_for_the_next_host,
    lifecycle::without_a_host_a_loud_program_goes_on_and_the_next_host_sees_its_last_words,
    lifecycle::sessions_are_listed_for_the_next_host,
    lifecycle::a_shell_has_a_terminal_and_a_prompt,
    lifecycle::exit_codes_are_those_of_a_shell,
    lifecycle::what_cannot_be_made_is_refused_in_one_sentence,
    lifecycle::refused_namespaces_are_explained,
    lifecycle::a_plain_host_shell_works_and_leaves_nothing,
    lifecycle::a_probe_leaves_nothing,
];
