//! The whole host in one process: the real loop, screen and journal, with a backend and PTYs in memory and a clock
//! that is turned by hand.

#[path = "whole/harness.rs"]
mod harness;

#[path = "whole/commands.rs"]
mod commands;
#[path = "whole/endings.rs"]
mod endings;
#[path = "whole/load.rs"]
mod load;
#[path = "whole/order.rs"]
mod order;
#[path = "whole/others.rs"]
mod others;
#[path = "whole/restart.rs"]
mod restart;
#[path = "whole/sandboxes.rs"]
mod sandboxes;
#[path = "whole/teardown.rs"]
mod teardown;
#[path = "whole/turns.rs"]
mod turns;
#[path = "whole/typing.rs"]
mod typing;
