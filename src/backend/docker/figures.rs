//! Times and limits as the engine writes them.

use crate::domain::Moment;
use bollard::models::HostConfig;

/// A time, if it has been: the engine writes the first second of year 1 for what has not.
pub fn moment(text: &str) -> Option<Moment> {
    let at: jiff::Timestamp = text.parse().ok()?;
    Some(Moment(u64::try_from(at.as_millisecond()).ok()?))
}

/// The most processes at once. None where there is no limit, as for the other two.
pub fn processes(host: &HostConfig) -> Option<u64> {
    positive(host.pids_limit)
}

/// The most memory, in bytes.
pub fn memory(host: &HostConfig) -> Option<u64> {
    positive(host.memory)
}

/// The most processor time, in thousandths of a core. There are two ways to say it.
pub fn cpu_millis(host: &HostConfig) -> Option<u64> {
    let quota = || Some(positive(host.cpu_quota)?.saturating_mul(1000) / positive(host.cpu_period)?);
    positive(host.nano_cpus).map(|nano| nano / 1_000_000).or_else(quota)
}

/// Zero and less mean none.
fn positive(value: Option<i64>) -> Option<u64> {
    value.and_then(|value| u64::try_from(value).ok()).filter(|value| *value > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_not_been_and_what_is_not_limited_is_none() {
        assert_eq!(moment("0001-01-01T00:00:00Z"), None);
        assert_eq!(moment(""), None);
        assert_eq!(moment("1970-01-01T00:00:01.5Z"), Some(Moment(1500)));
        let host = HostConfig { memory: Some(0), pids_limit: Some(-1), nano_cpus: Some(0), ..HostConfig::default() };
        assert_eq!((processes(&host), memory(&host), cpu_millis(&host)), (None, None, None));
    }

    #[test]
    fn processor_time_is_read_in_both_ways() {
        let nano = HostConfig { nano_cpus: Some(1_500_000_000), ..HostConfig::default() };
        let quota = HostConfig { cpu_quota: Some(150_000), cpu_period: Some(100_000), ..HostConfig::default() };
        assert_eq!((cpu_millis(&nano), cpu_millis(&quota)), (Some(1500), Some(1500)));
        let half = HostConfig { cpu_quota: Some(150_000), ..HostConfig::default() };
        assert_eq!(cpu_millis(&half), None);
    }
}
