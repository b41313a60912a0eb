//! "Did you mean": the known word nearest to an unknown one.

/// The nearest of `known`, if it is near enough to be meant: at most a third of the letters differ, or one contains
/// the other.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = word.chars().count().div_ceil(3);
    known
        .into_iter()
        .map(|candidate| {
            let part = word.len() >= 3 && (candidate.contains(word) || word.contains(candidate));
            (if part { 1 } else { distance(word, candidate) }, candidate)
        })
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Edits (insert, delete, replace, swap of neighbours) between two words.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i.max(j)
            } else {
                let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut best = replace.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(rows[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_find_their_word_and_other_words_do_not() {
        let known = ["env.list", "env.new", "idle_seconds", "conversation"];
        assert_eq!(nearest("env.lsit", known), Some("env.list"));
        assert_eq!(nearest("idle", known), Some("idle_seconds"));
        assert_eq!(nearest("conversaton", known), Some("conversation"));
        assert_eq!(nearest("quux", known), None);
        assert_eq!(nearest("", known), None);
    }
}
