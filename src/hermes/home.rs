//! Homes of hermes-agents: where they are, and which profile name their containers carry.
//!
//! The rules are those of hermes-agent 0.19 (`hermes_constants.py`, `hermes_cli/profiles.py`).

use super::settings::Settings;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A folder with the files of one hermes-agent profile.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Home {
    /// The folder.
    pub path: PathBuf,
    /// The profile's name as its containers are labelled, before sanitising. Homes outside the user's folder all have
    /// the name `default`, or that of their folder below one that is called `profiles`.
    pub profile: String,
}

/// Where to look for homes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// What `HERMES_HOME` says.
    pub named: Option<PathBuf>,
    /// The user's own folder.
    pub user: Option<PathBuf>,
}

impl Places {
    /// From the process's variables (`HERMES_HOME`, `HOME`).
    pub fn new(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let path = |name: &str| variable(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        Self { named: path("HERMES_HOME").map(PathBuf::from), user: path("HOME").map(PathBuf::from) }
    }

    /// The user's usual home.
    fn usual(&self) -> Option<PathBuf> {
        self.user.as_ref().map(|user| user.join(".hermes"))
    }

    /// Homes that may have profiles below them, whether they exist or not.
    fn roots(&self) -> Vec<PathBuf> {
        let usual = self.usual();
        let mut paths = Vec::new();
        if let Some(named) = &self.named {
            paths.push(named.clone());
            paths.extend(root(named, usual.as_deref()));
        }
        paths.extend(usual);
        paths
    }

    /// Folders in which a home may come to be: in some only under this name, in the others whatever is written there
    /// may make one. Those that do not exist are left out, and so is what stands above a folder that does.
    #[must_use]
    pub fn cradles(&self) -> Vec<(PathBuf, Option<OsString>)> {
        let mut all = Vec::new();
        for root in self.roots() {
            if let (false, Some(parent), Some(name)) = (root.is_dir(), root.parent(), root.file_name()) {
                all.push((parent.to_owned(), Some(name.to_owned())));
            }
            let profiles = root.join("profiles");
            all.extend(subfolders(&profiles).into_iter().filter(|path| !is_home(path)).map(|path| (path, None)));
            all.push((profiles, None));
            let only = if is_home(&root) { Some(OsString::from("profiles")) } else { None };
            all.push((root, only));
        }
        let exists = |(path, name): (PathBuf, _)| Some((std::fs::canonicalize(path).ok()?, name));
        all.into_iter().filter_map(exists).filter(|(path, _)| path.is_dir()).collect()
    }

    /// Every home that exists: the one that is named, the user's own, and all profiles beside them.
    #[must_use]
    pub fn homes(&self) -> Vec<Home> {
        let usual = self.usual();
        let mut paths = self.roots();
        for root in paths.clone() {
            paths.extend(subfolders(&root.join("profiles")));
        }
        let mut homes: Vec<Home> = Vec::new();
        for path in paths {
            let path = std::fs::canonicalize(&path).unwrap_or(path);
            if is_home(&path) && !homes.iter().any(|home| home.path == path) {
                let profile = profile(&path, usual.as_deref());
                homes.push(Home { path, profile });
            }
        }
        homes
    }
}

impl Home {
    /// A home by its folder alone.
    #[must_use]
    pub fn at(path: &Path, places: &Places) -> Self {
        let usual = places.user.as_ref().map(|user| user.join(".hermes"));
        Self { path: path.to_owned(), profile: profile(path, usual.as_deref()) }
    }

    /// Its settings.
    #[must_use]
    pub fn settings(&self) -> Settings {
        Settings::read(&self.path)
    }
}

/// The root of a home that is not one itself: profiles lie below it.
fn root(home: &Path, usual: Option<&Path>) -> Option<PathBuf> {
    if let Some(usual) = usual.filter(|usual| home.starts_with(usual)) {
        return Some(usual.to_owned());
    }
    let parent = home.parent()?;
    if parent.file_name()? == "profiles" { parent.parent().map(Path::to_owned) } else { None }
}

/// Any of these is written by every start of a hermes-agent.
fn is_home(path: &Path) -> bool {
    ["config.yaml", "state.db", "SOUL.md", "sessions", "sandboxes"].iter().any(|name| path.join(name).exists())
}

fn profile(home: &Path, usual: Option<&Path>) -> String {
    let usual = usual.map(|usual| std::fs::canonicalize(usual).unwrap_or_else(|_| usual.to_owned()));
    let inside = usual.as_ref().is_some_and(|usual| home.starts_with(usual));
    let root = if inside { usual.clone() } else { root(home, None) };
    let Some(root) = root else { return "default".to_owned() };
    if home == root {
        return "default".to_owned();
    }
    let below = home.strip_prefix(root.join("profiles")).ok().and_then(Path::to_str);
    below.filter(|name| is_profile_name(name)).unwrap_or("custom").to_owned()
}

fn is_profile_name(name: &str) -> bool {
    let first = name.chars().next().is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
    first && name.len() <= 64 && name.chars().all(good)
}

fn subfolders(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(path: &Path) {
        std::fs::create_dir_all(path).expect("a folder");
        std::fs::write(path.join("config.yaml"), "").expect("a file");
    }

    #[test]
    fn homes_are_the_named_one_the_users_and_every_profile() {
        let dir = tempfile::tempdir().expect("a folder");
        let base = std::fs::canonicalize(dir.path()).expect("a path");
        let (user, named) = (base.join("user"), base.join("opt/profiles/work"));
        for path in [user.join(".hermes"), user.join(".hermes/profiles/coder"), named.clone()] {
            make(&path);
        }
        std::fs::create_dir_all(user.join(".hermes/profiles/empty")).expect("a folder");
        make(&base.join("opt/profiles/other"));
        let places = Places { named: Some(named.clone()), user: Some(user.clone()) };
        let mut found: Vec<(PathBuf, String)> =
            places.homes().into_iter().map(|home| (home.path, home.profile)).collect();
        found.sort();
        let mut expected = vec![
            (named, "work".to_owned()),
            (base.join("opt/profiles/other"), "other".to_owned()),
            (user.join(".hermes"), "default".to_owned()),
            (user.join(".hermes/profiles/coder"), "coder".to_owned()),
        ];
        expected.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_home_elsewhere_is_labelled_default_and_an_odd_one_custom() {
        let dir = tempfile::tempdir().expect("a folder");
        let base = std::fs::canonicalize(dir.path()).expect("a path");
        let odd = base.join("user/.hermes/odd");
        make(&odd);
        make(&base.join("elsewhere"));
        let places = Places { named: None, user: Some(base.join("user")) };
        assert_eq!(Home::at(&base.join("elsewhere"), &places).profile, "default");
        assert_eq!(Home::at(&odd, &places).profile, "custom");
        assert!(Places::default().homes().is_empty());
    }
}
