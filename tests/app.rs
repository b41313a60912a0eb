//! The app layer: key scripts → commands and model; layout; what a client's screen shows.

#[path = "app/agent.rs"]
mod agent;
#[path = "app/clients.rs"]
mod clients;
#[path = "app/clipboard.rs"]
mod clipboard;
#[path = "app/colours.rs"]
mod colours;
#[path = "app/commands.rs"]
mod commands;
#[path = "app/config.rs"]
mod config;
#[path = "app/copy.rs"]
mod copy;
#[path = "app/dialogs.rs"]
mod dialogs;
#[path = "app/feed.rs"]
mod feed;
#[path = "app/layout.rs"]
mod layout;
#[path = "app/links.rs"]
mod links;
#[path = "app/memory.rs"]
mod memory;
#[path = "app/mouse.rs"]
mod mouse;
#[path = "app/needs.rs"]
mod needs;
#[path = "app/only.rs"]
mod only;
#[path = "app/others.rs"]
mod others;
#[path = "app/panes.rs"]
mod panes;
#[path = "app/random.rs"]
mod random;
#[path = "app/reported.rs"]
mod reported;
#[path = "app/rules.rs"]
mod rules;
#[path = "app/sidebar.rs"]
mod sidebar;
#[path = "app/timers.rs"]
mod timers;
#[path = "app/work.rs"]
mod work;
#[path = "app/world.rs"]
mod world;
