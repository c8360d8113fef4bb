//! Names of steps and rows. A folder that the reference program began goes on with its names.

use std::collections::BTreeMap;

/// The names in use in one run folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepNames {
    /// Asking until the request is clear.
    pub clarify: &'static str,
    /// Turning the brief into a goal.
    pub goal: &'static str,
    /// Working towards it.
    pub work: &'static str,
    judge: &'static str,
}

const REFERENCE: StepNames =
    StepNames { clarify: "确认需求", goal: "设定目标", work: "干活", judge: "·判定" };

impl StepNames {
    /// Ours, which a gate is told in every folder.
    pub const OURS: Self = Self { clarify: "clarify", goal: "goal", work: "work", judge: ".judge" };

    /// Decided by what the lineage holds, never mixed.
    pub fn of(steps: &BTreeMap<String, String>) -> Self {
        let reference = [REFERENCE.clarify, REFERENCE.goal, REFERENCE.work];
        if reference.iter().any(|name| steps.contains_key(*name)) { REFERENCE } else { Self::OURS }
    }

    /// The row of a round of work: `work`, `work#round2`.
    pub fn round(&self, round: u32) -> String {
        match round {
            1 => self.work.to_owned(),
            _ => format!("{}#round{round}", self.work),
        }
    }

    /// The row of a judgement: `work.judge#1`; a judge that failed is asked again under `…#retry1`.
    pub fn judgement(&self, round: u32, retry: u32) -> String {
        let name = format!("{}{}#{round}", self.work, self.judge);
        retried(&name, retry)
    }
}

/// The row of a step that is run again from the start: `goal#retry1`.
pub(super) fn retried(name: &str, retry: u32) -> String {
    match retry {
        0 => name.to_owned(),
        _ => format!("{name}#retry{retry}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_named_as_the_manifest_has_them() {
        let names = StepNames::of(&BTreeMap::new());
        assert_eq!(names.round(1), "work");
        assert_eq!(names.round(2), "work#round2");
        assert_eq!(names.judgement(2, 0), "work.judge#2");
        assert_eq!(names.judgement(2, 1), "work.judge#2#retry1");
    }

    #[test]
    fn a_folder_of_the_reference_program_keeps_its_names() {
        let steps = BTreeMap::from([("干活".to_owned(), "s".to_owned())]);
        assert_eq!(StepNames::of(&steps).judgement(1, 0), "干活·判定#1");
    }
}
