//! What is wrong with a stored transcript: what its view would mend, counted.

use crate::context::{Policy, view};
use crate::transcript::Entry;

/// A kind of damage and how often it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    /// One word for machines, the same for ever.
    pub name: &'static str,
    /// The key of its text in the language catalogues.
    pub key: &'static str,
    /// How often.
    pub count: usize,
}

impl Finding {
    /// Rows of the database that are no entries; they stay, and are passed over.
    pub fn unreadable_rows(count: usize) -> Self {
        Self { name: "unreadable_row", key: "sessions.unreadable_row", count }
    }
}

/// A transcript that was looked at.
#[derive(Debug)]
pub struct Examined {
    /// What is damaged; nothing for a sound transcript.
    pub findings: Vec<Finding>,
    /// What a model would be shown, with all of that mended and nothing left out for its size or age.
    pub mended: Vec<Entry>,
}

/// Looks at one transcript; what is stored is not changed.
pub fn examine(entries: Vec<Entry>) -> Examined {
    let seen = view(entries, &Policy::whole());
    let finding = |(mend, count): (crate::context::Mend, usize)| Finding {
        name: mend.name(),
        key: mend.key(),
        count,
    };
    Examined { findings: seen.report.findings().map(finding).collect(), mended: seen.entries }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sound_transcript_has_no_findings_and_a_broken_one_names_them() {
        let rows = [
            r#"{"type":"user","uuid":"1","parentUuid":null,"message":{"role":"user","content":"hi"}}"#,
            r#"{"type":"assistant","uuid":"2","parentUuid":"1","message":{"role":"assistant","id":"m","content":[{"type":"tool_use","id":"a","name":"x","input":{}}]}}"#,
            r#"{"type":"user","uuid":"3","parentUuid":"2","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"ok"}]}}"#,
        ];
        let entries = rows.map(|row| Entry::parse(row).unwrap());
        let sound = examine(entries.to_vec());
        assert_eq!(sound.findings, []);
        assert_eq!(sound.mended.len(), 3);
        let broken = examine(entries[..2].to_vec());
        let names: Vec<_> = broken.findings.iter().map(|found| (found.name, found.count)).collect();
        assert_eq!(names, [("unanswered_call", 1)]);
        assert_eq!(broken.mended.len(), 3);
    }
}
