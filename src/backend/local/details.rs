//! What can be told of a local sandbox beside how it looks in a list.

use super::super::SandboxInfo;
use super::super::details::{Details, Limit, Place, PlaceKind};
use super::record::Record;
use crate::domain::Network;

/// From its record, and what was found of it.
pub fn told(record: &Record, info: &SandboxInfo) -> Details {
    let bind = |(source, target, read_only): &(String, String, bool)| Place {
        kind: PlaceKind::Bind,
        source: source.clone(),
        target: target.clone(),
        read_only: *read_only,
    };
    let mut places: Vec<Place> = info.mounts.iter().map(bind).collect();
    if !record.spec.on_host {
        let (source, target) = (String::new(), "/tmp".to_owned());
        places.push(Place { kind: PlaceKind::Tmpfs, source, target, read_only: false });
    }
    // Limits that this kernel does not let us set say so in their value.
    let limit = |(name, value): &(String, String)| Limit {
        name: name.clone(),
        value: value.clone(),
        enforced: !value.contains("not enforced"),
    };
    let network = match record.spec.network {
        _ if record.spec.on_host => "host",
        Network::None => "none",
        Network::Default => "default",
        Network::Host => "host",
    };
    Details {
        user: info.user.clone(),
        network: network.to_owned(),
        limits: info.limits.iter().map(limit).collect(),
        places,
        ..Details::default()
    }
}
