//! What can be told of a local sandbox beside how it looks in a list.

use super::super::details::{Details, Limit, Place, PlaceKind};
#[cfg(target_os = "linux")]
use super::inside::{INSIDE_HOME, INSIDE_ID, INSIDE_USER};
use super::record::Record;
#[cfg(target_os = "linux")]
use crate::domain::Network;
use std::path::Path;

/// From its record.
pub fn told(record: &Record) -> Details {
    if record.spec.on_host {
        return on_host(record);
    }
    #[cfg(target_os = "linux")]
    return inside(record);
    #[cfg(not(target_os = "linux"))]
    on_host(record)
}

fn on_host(record: &Record) -> Details {
    let variable = |name: &str, otherwise: &str| std::env::var(name).unwrap_or_else(|_| otherwise.to_owned());
    Details {
        user: variable("USER", "the host's user"),
        home: variable("HOME", "/"),
        network: "host".to_owned(),
        limits: vec![limit("isolation", "none: a plain shell of the host")],
        places: vec![bind(&record.workspace, &record.workspace.display().to_string(), false)],
        ..Details::default()
    }
}

#[cfg(target_os = "linux")]
fn inside(record: &Record) -> Details {
    let spec = &record.spec;
    let mut places = vec![bind(&record.home, INSIDE_HOME, false), bind(&record.workspace, "/workspace", false)];
    places.extend(spec.mounts.iter().map(|mount| bind(Path::new(&mount.source), &mount.target, mount.read_only)));
    let (source, target) = (String::new(), "/tmp".to_owned());
    places.push(Place { kind: PlaceKind::Tmpfs, source, target, read_only: false });
    let network = match spec.network {
        Network::None => "none",
        Network::Default => "default",
        Network::Host => "host",
    };
    let limits = record.ready.iter().flat_map(|ready| &ready.limits);
    Details {
        user: format!("{INSIDE_USER} ({INSIDE_ID})"),
        home: INSIDE_HOME.to_owned(),
        network: network.to_owned(),
        limits: limits.map(|(name, value)| limit(name, value)).collect(),
        places,
        ..Details::default()
    }
}

/// Limits that this kernel does not let us set say so in their value.
fn limit(name: &str, value: &str) -> Limit {
    Limit { name: name.to_owned(), value: value.to_owned(), enforced: !value.contains("not enforced") }
}

fn bind(source: &Path, target: &str, read_only: bool) -> Place {
    Place { kind: PlaceKind::Bind, source: source.display().to_string(), target: target.to_owned(), read_only }
}
