//! Which engines there may be on this machine: each place is an endpoint of its own, under a name that it keeps.
//!
//! The endpoint `docker` is the one that is meant where none is named: what was chosen for this host or for the docker
//! command line, else the first of the usual places that answers. A name must not come to mean another engine while
//! environments live at the old one: where they live is remembered beside them.

use super::address::{Address, Tls};
use super::contexts;
use super::memory::Memory;
use crate::domain::EndpointId;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A way to ask for a variable of the process.
pub type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The endpoint that is meant where none is named.
pub const MAIN: &str = "docker";

/// A place where an engine may be, and who said so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Who said so, for people.
    pub origin: String,
    /// Where; or why what was said is not understood.
    pub address: Result<Address, String>,
}

impl Place {
    /// A place that this one named.
    pub fn new(origin: impl Into<String>, address: Result<Address, String>) -> Self {
        Self { origin: origin.into(), address }
    }

    /// A socket of this machine.
    pub fn socket(path: impl Into<PathBuf>) -> Self {
        Self::new("a usual place", Ok(Address::Unix(path.into())))
    }

    fn is(&self, address: &Address) -> bool {
        self.address.as_ref().is_ok_and(|own| own.canonical() == address.canonical())
    }
}

/// An endpoint that may come to be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Its name.
    pub id: EndpointId,
    /// Where its engine may be, best first; the first that answers is kept to.
    pub places: Vec<Place>,
    /// Somebody named it, or environments live there: it is shown also while it does not answer.
    pub expected: bool,
    /// It is no endpoint of its own for as long as `docker` may turn out to be it.
    pub waits: bool,
}

/// An endpoint that the configuration names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub url: String,
    /// The folder of its certificates.
    pub certificates: Option<PathBuf>,
}

/// What says where engines are.
pub struct Search<'a> {
    /// The flag `--endpoint`: a URL, or a name.
    pub flag: Option<&'a str>,
    /// The endpoints that the configuration names.
    pub named: &'a [Named],
    /// The endpoint of new environments by the configuration; empty = none named.
    pub preferred: Option<&'a str>,
    /// Whether the usual places are looked at, too.
    pub usual: bool,
    /// The data directory of the profile.
    pub data_dir: &'a Path,
    /// The variables of the process.
    pub variable: Variable<'a>,
}

/// What was found: the endpoints, and which of them is meant where none is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// All of them, best first.
    pub spots: Vec<Spot>,
    /// The one for new environments.
    pub default: EndpointId,
    /// What was named and is not there, one sentence each.
    pub warnings: Vec<String>,
}

/// The places where engines usually are, with the names of their endpoints.
fn usual(variable: Variable<'_>) -> Vec<(&'static str, PathBuf)> {
    let folder = |name: &str| variable(name).filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let (home, runtime) = (folder("HOME"), folder("XDG_RUNTIME_DIR"));
    let colima = folder("COLIMA_HOME").or_else(|| Some(home.as_ref()?.join(".colima")));
    let below = |dir: &Option<PathBuf>, path: &str| dir.as_ref().map(|dir| dir.join(path));
    let all = [
        ("docker-system", Some(PathBuf::from("/var/run/docker.sock"))),
        ("docker-rootless", below(&runtime, "docker.sock")),
        ("colima", below(&colima, "default/docker.sock")),
        ("orbstack", below(&home, ".orbstack/run/docker.sock")),
        ("podman", below(&runtime, "podman/podman.sock")),
        ("podman-system", Some(PathBuf::from("/run/podman/podman.sock"))),
    ];
    all.into_iter().filter_map(|(id, path)| Some((id, path?))).collect()
}

/// The usual places alone.
#[must_use]
pub fn usual_places(variable: Variable<'_>) -> Vec<Place> {
    match contexts::chosen(variable) {
        Some(place) => vec![place],
        None => usual(variable).into_iter().map(|(_, path)| Place::socket(path)).collect(),
    }
}

/// Finds all endpoints. Reads files of the docker command line and of the profile; asks no engine.
#[must_use]
pub fn find(search: &Search<'_>) -> Found {
    let mut list = List::default();
    let memory = Memory::new(search.data_dir);
    let remembered = memory.all();
    let usual = if search.usual { usual(search.variable) } else { Vec::new() };
    for named in search.named {
        let tls = named.certificates.as_ref().map(|folder| Tls::of(folder, true));
        let place = Place::new(format!("endpoints.{}", named.name), Address::parse(&named.url, tls));
        list.add(&named.name, vec![place], true);
    }
    let is_url = |text: &&str| text.contains("://") || text.starts_with('/');
    let flag = search.flag.filter(is_url);
    let chosen = match flag {
        Some(url) => Some(Place::new("--endpoint", Address::parse(url, None))),
        None => contexts::chosen(search.variable),
    };
    let mut default = list.main(chosen, &remembered, &usual);
    let decided = list.spots.iter().any(|spot| spot.id.as_str() == MAIN && spot.places.len() == 1);
    for (id, path) in &usual {
        let place = Place::socket(path.clone());
        // Environments may live there although it is not what `docker` is any more.
        let expected = remembered.contains_key(*id);
        if !list.has(&place) && list.named(id).is_none() {
            list.spots.push(Spot {
                id: EndpointId::new(*id),
                places: vec![place],
                expected,
                waits: !expected && !decided,
            });
        }
    }
    for (id, address) in &remembered {
        if !list.spots.iter().any(|spot| spot.id.as_str() == id) {
            list.add(id, vec![Place::new("environments live there", Ok(address.clone()))], true);
        }
    }
    let mut warnings = Vec::new();
    let asked = search.flag.filter(|text| !is_url(text)).map(|text| ("--endpoint", text));
    let preferred = search.preferred.filter(|_| flag.is_none()).map(|text| ("env.endpoint", text));
    if let Some((who, name)) = asked.or(preferred) {
        match list.named(name) {
            Some(id) => default = id,
            None => warnings.push(format!("{who} names `{name}`, which is no endpoint; there is {}", list.names())),
        }
    }
    Found { spots: list.spots, default, warnings }
}

#[derive(Default)]
struct List {
    spots: Vec<Spot>,
}

impl List {
    fn add(&mut self, id: &str, places: Vec<Place>, expected: bool) {
        self.spots.push(Spot { id: EndpointId::new(id), places, expected, waits: false });
    }

    /// Whether an endpoint stands for this place and no other.
    fn has(&self, place: &Place) -> bool {
        place.address.as_ref().is_ok_and(|address| self.at(address).is_some())
    }

    fn at(&self, address: &Address) -> Option<&Spot> {
        self.spots.iter().find(|spot| spot.places.len() == 1 && spot.places[0].is(address))
    }

    /// Adds `docker`, and gives the name of what is meant where none is named.
    fn main(
        &mut self,
        chosen: Option<Place>,
        remembered: &BTreeMap<String, Address>,
        usual: &[(&'static str, PathBuf)],
    ) -> EndpointId {
        let main = EndpointId::new(MAIN);
        if self.named(MAIN).is_some() {
            return main;
        }
        if let Some(known) = chosen.as_ref().and_then(|place| self.at(place.address.as_ref().ok()?)) {
            let known = known.id.clone();
            self.main(None, remembered, usual);
            return known;
        }
        let lives = |address: &Address| Place::new("environments live there", Ok(address.clone()));
        match (chosen, remembered.get(MAIN)) {
            (Some(place), Some(address)) if !place.is(address) => {
                self.add(MAIN, vec![lives(address)], true);
                // Another engine than before: it gets a name of its own, which is the same at each start.
                let word = place.address.as_ref().map_or_else(|_| "chosen".to_owned(), Address::word);
                let word = if self.named(&word).is_some() { format!("{word}-2") } else { word };
                self.add(&word, vec![place], true);
                EndpointId::new(word)
            }
            (Some(place), _) => {
                self.add(MAIN, vec![place], true);
                main
            }
            (None, Some(address)) => {
                self.add(MAIN, vec![lives(address)], true);
                main
            }
            (None, None) => {
                // Not those that are another endpoint already.
                let free = usual.iter().filter(|(id, _)| !remembered.contains_key(*id));
                let places =
                    free.map(|(_, path)| Place::socket(path.clone())).filter(|place| !self.has(place)).collect();
                self.add(MAIN, places, false);
                main
            }
        }
    }

    fn named(&self, name: &str) -> Option<EndpointId> {
        self.spots.iter().find(|spot| spot.id.as_str() == name).map(|spot| spot.id.clone())
    }

    fn names(&self) -> String {
        self.spots.iter().map(|spot| spot.id.as_str()).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Machine {
        data: tempfile::TempDir,
        named: Vec<Named>,
        set: Vec<(&'static str, String)>,
        usual: bool,
    }

    impl Machine {
        fn new() -> Self {
            let data = tempfile::tempdir().expect("folder");
            let home = data.path().join("home").display().to_string();
            Self {
                set: vec![("HOME", home), ("XDG_RUNTIME_DIR", "/run/user/7".into())],
                data,
                named: Vec::new(),
                usual: true,
            }
        }

        fn find(&self, flag: Option<&str>, preferred: Option<&str>) -> Found {
            let variable = |name: &str| self.set.iter().find(|(set, _)| *set == name).map(|(_, value)| value.clone());
            let (named, data_dir) = (&self.named, self.data.path());
            find(&Search { flag, named, preferred, usual: self.usual, data_dir, variable: &variable })
        }

        fn lives_at(&self, endpoint: &str, url: &str) {
            Memory::new(self.data.path()).remember(endpoint, &Address::parse(url, None).expect("an address"));
        }
    }

    fn urls(found: &Found, id: &str) -> Vec<String> {
        let spot = found.spots.iter().find(|spot| spot.id.as_str() == id);
        let spot = spot.unwrap_or_else(|| panic!("there is no {id}: {found:?}"));
        spot.places.iter().map(|place| place.address.as_ref().map_or_else(Clone::clone, ToString::to_string)).collect()
    }

    #[test]
    fn without_a_choice_docker_is_the_first_of_the_usual_places() {
        let machine = Machine::new();
        let found = machine.find(None, None);
        assert_eq!(found.default.as_str(), "docker");
        let all = urls(&found, "docker");
        assert_eq!(all[..2], ["unix:///var/run/docker.sock", "unix:///run/user/7/docker.sock"]);
        assert!(all[2].ends_with("/home/.colima/default/docker.sock"), "{all:?}");
        assert!(all[3].ends_with("/home/.orbstack/run/docker.sock"), "{all:?}");
        assert_eq!(all[4..], ["unix:///run/user/7/podman/podman.sock", "unix:///run/podman/podman.sock"]);
        assert_eq!(urls(&found, "podman"), ["unix:///run/user/7/podman/podman.sock"]);
        let quiet = found.spots.iter().filter(|spot| spot.id.as_str() != "docker");
        assert!(quiet.into_iter().all(|spot| spot.waits && !spot.expected), "{found:?}");
    }

    #[test]
    fn the_usual_places_are_left_alone_where_the_configuration_says_so_and_what_lives_there_is_not() {
        let mut machine = Machine::new();
        machine.usual = false;
        assert_eq!(urls(&machine.find(None, None), "docker"), Vec::<String>::new());
        machine.set.push(("DOCKER_HOST", "tcp://far:1".into()));
        let found = machine.find(None, None);
        assert_eq!(found.spots.iter().map(|spot| spot.id.as_str()).collect::<Vec<_>>(), ["docker"]);
        machine.lives_at("podman-system", "/run/podman/podman.sock");
        assert_eq!(urls(&machine.find(None, None), "podman-system"), ["unix:///run/podman/podman.sock"]);
    }

    #[test]
    fn the_flag_wins_over_the_configuration_and_that_over_the_variable() {
        let mut machine = Machine::new();
        machine.set.push(("DOCKER_HOST", "tcp://far:1".into()));
        machine.named.push(Named { name: "gpu".into(), url: "ssh://me@gpu".into(), certificates: None });
        let found = machine.find(None, None);
        assert_eq!((found.default.as_str(), urls(&found, "docker")), ("docker", vec!["tcp://far:1".to_owned()]));
        assert_eq!(urls(&found, "docker-system"), ["unix:///var/run/docker.sock"]);
        assert_eq!(machine.find(None, Some("gpu")).default.as_str(), "gpu");
        let found = machine.find(Some("tcp://near:2"), Some("gpu"));
        assert_eq!((found.default.as_str(), urls(&found, "docker")), ("docker", vec!["tcp://near:2".to_owned()]));
        assert_eq!(machine.find(Some("podman"), Some("gpu")).default.as_str(), "podman");
        let found = machine.find(Some("nonsense"), None);
        assert_eq!(found.default.as_str(), "docker");
        assert!(found.warnings[0].contains("`nonsense`, which is no endpoint; there is gpu, docker"), "{found:?}");
    }

    #[test]
    fn what_is_not_understood_is_a_place_that_says_so() {
        let mut machine = Machine::new();
        machine.set.push(("DOCKER_HOST", "far:1".into()));
        let found = machine.find(None, None);
        assert!(urls(&found, "docker")[0].contains("is no URL"), "{found:?}");
        assert!(found.spots.iter().all(|spot| !spot.waits), "the others are not held up by it: {found:?}");
    }

    #[test]
    fn a_place_is_listed_once_whatever_names_it() {
        let mut machine = Machine::new();
        machine.set.push(("DOCKER_HOST", "unix:///run/user/7/podman/podman.sock".into()));
        let found = machine.find(None, None);
        assert!(found.spots.iter().all(|spot| spot.id.as_str() != "podman"), "{found:?}");
        machine.named.push(Named {
            name: "mine".into(),
            url: "/run/user/7/podman/podman.sock".into(),
            certificates: None,
        });
        let found = machine.find(None, None);
        assert_eq!(found.default.as_str(), "mine");
        assert!(!urls(&found, "docker").iter().any(|url| url.contains("podman/podman.sock") && url.contains("/7/")));
    }

    #[test]
    fn a_name_does_not_come_to_mean_another_engine_while_environments_live_at_the_old_one() {
        let mut machine = Machine::new();
        machine.lives_at("docker", "/run/podman/podman.sock");
        assert_eq!(urls(&machine.find(None, None), "docker"), ["unix:///run/podman/podman.sock"]);
        machine.set.push(("DOCKER_HOST", "tcp://far:1".into()));
        let found = machine.find(None, None);
        assert_eq!(urls(&found, "docker"), ["unix:///run/podman/podman.sock"]);
        assert_eq!((found.default.as_str(), urls(&found, "far-1")), ("far-1", vec!["tcp://far:1".to_owned()]));
        machine.lives_at("far-1", "tcp://far:1");
        machine.set.pop();
        let found = machine.find(None, None);
        assert_eq!((found.default.as_str(), urls(&found, "far-1")), ("docker", vec!["tcp://far:1".to_owned()]));
        Memory::new(machine.data.path()).forget("docker");
        assert_eq!(urls(&machine.find(None, None), "docker").len(), 6);
    }

    #[test]
    fn where_an_earlier_version_left_environments_is_still_known() {
        let machine = Machine::new();
        std::fs::write(machine.data.path().join("container-engine"), "/run/podman/podman.sock\n").expect("written");
        assert_eq!(urls(&machine.find(None, None), "docker"), ["unix:///run/podman/podman.sock"]);
    }
}
