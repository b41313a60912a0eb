//! Keeps secrets out of what is written down or listed.
//!
//! Two sources: the values of variables that the user set (`--env`), which are known exactly, and tokens whose shape
//! their issuers publish (a fixed prefix and an alphabet). Best effort by nature: a secret without a known shape that
//! somebody types into a command stays.

/// What stands in place of a secret.
pub const MASK: &str = "[redacted]";

/// A token shape: prefix, and how many token characters must follow it at least.
const SHAPES: &[(&str, usize)] = &[
    ("sk-", 16),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("hf_", 20),
    ("npm_", 30),
    ("pypi-", 30),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxa-", 10),
    ("xapp-", 10),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("ya29.", 20),
    ("eyJ", 30),
    ("dop_v1_", 32),
    ("dckr_pat_", 16),
    ("tvly-", 16),
];

/// Words after which the next word is a secret.
const BEARERS: &[&str] = &["Bearer ", "bearer ", "Basic "];

/// The shortest value of a variable that is masked wherever it occurs: shorter ones (`1`, `true`, `dev`) are no
/// secrets and would riddle every text with masks.
const SHORTEST_VALUE: usize = 6;

fn is_token_char(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'+' | b'/' | b'=')
}

/// Length of the secret that starts at `at`, if one does.
fn secret_at(text: &str, at: usize) -> Option<(usize, usize)> {
    let rest = &text[at..];
    let run = |from: usize| rest.as_bytes()[from..].iter().take_while(|b| is_token_char(**b)).count();
    for bearer in BEARERS {
        if rest.starts_with(bearer) {
            let length = run(bearer.len());
            if length >= 12 {
                return Some((bearer.len(), bearer.len() + length));
            }
        }
    }
    let begins_word = at == 0 || !text.as_bytes()[at - 1].is_ascii_alphanumeric();
    if !begins_word {
        return None;
    }
    for (prefix, least) in SHAPES {
        if rest.starts_with(prefix) {
            let length = run(prefix.len());
            if length >= *least {
                return Some((0, prefix.len() + length));
            }
        }
    }
    None
}

/// Words in the name of a label whose value is nobody's business.
const SECRETS: &[&str] = &["token", "secret", "password", "passwd", "credential", "api-key", "api_key"];

/// The value of a label as it may be shown.
#[must_use]
pub fn label(name: &str, value: &str) -> String {
    let name = name.to_lowercase();
    if SECRETS.iter().any(|word| name.contains(word)) { MASK.to_owned() } else { redact(value, []) }
}

/// The text without token shapes and without the given values.
pub fn redact<'a>(text: &str, values: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = text.to_owned();
    for value in values {
        if value.len() >= SHORTEST_VALUE && text.contains(value) {
            text = text.replace(value, MASK);
        }
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        if let Some((keep, length)) = secret_at(&text, at) {
            out.push_str(&text[at..at + keep]);
            out.push_str(MASK);
            at += length;
        } else {
            let Some(next) = text[at..].chars().next() else { break };
            out.push(next);
            at += next.len_utf8();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{MASK, redact};

    #[test]
    fn token_shapes_are_masked_and_the_rest_stays() {
        let text = "curl -H 'Authorization: Bearer abcdefghijklmnop' x; export T=ghp_abcdefghijklmnopqrst012345 é";
        assert_eq!(redact(text, []), format!("curl -H 'Authorization: Bearer {MASK}' x; export T={MASK} é"));
    }

    #[test]
    fn words_that_only_resemble_tokens_stay() {
        for text in ["task-force sk-short", "risk-averse-and-very-long-word", "eyJ", "the AKIA desk"] {
            assert_eq!(redact(text, []), text);
        }
    }

    #[test]
    fn known_values_are_masked_but_not_trivial_ones() {
        assert_eq!(
            redact("run --pw hunter22 --level dev", ["hunter22", "dev"]),
            format!("run --pw {MASK} --level dev")
        );
    }
}
