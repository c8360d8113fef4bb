//! What the view may leave out to be small, with the reference program's defaults.

/// Everything that can be chosen about a view. Making it acceptable to the API cannot be turned off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Large results.
    pub trim: TrimPolicy,
    /// Results of commands that only looked.
    pub ephemeral: EphemeralPolicy,
    /// Errors, interrupts, refusals.
    pub prune: PrunePolicy,
    /// What the model thought.
    pub thinking: ThinkingPolicy,
}

impl Default for Policy {
    /// As `flower go` has it.
    fn default() -> Self {
        Self {
            trim: TrimPolicy::default(),
            ephemeral: EphemeralPolicy::default(),
            prune: PrunePolicy::default(),
            thinking: ThinkingPolicy::default(),
        }
    }
}

impl Policy {
    /// Nothing is shortened and nothing is left out, except what the API would refuse.
    pub fn whole() -> Self {
        Self {
            trim: TrimPolicy { enabled: false, ..TrimPolicy::default() },
            ephemeral: EphemeralPolicy { enabled: false, ..EphemeralPolicy::default() },
            prune: PrunePolicy {
                drop_api_errors: false,
                neutralize_interrupts: false,
                keep_denials: usize::MAX,
            },
            thinking: ThinkingPolicy::Keep,
        }
    }
}

/// Old large results become a pointer to a file (core.md T-1 to T-8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrimPolicy {
    /// False means that every result stays.
    pub enabled: bool,
    /// So many of the newest large results stay; 0 archives all.
    pub keep_recent: usize,
    /// A result is large from so many characters on.
    pub min_chars: usize,
    /// The folder of the files, relative to the workspace, where Read reaches it.
    pub spill_dirname: String,
}

impl Default for TrimPolicy {
    fn default() -> Self {
        Self {
            enabled: true,
            keep_recent: 20,
            min_chars: 2000,
            spill_dirname: ".flower/spill".to_owned(),
        }
    }
}

/// Results of look-only commands go stale (core.md P-30 to P-35).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EphemeralPolicy {
    /// False means that nothing expires.
    pub enabled: bool,
    /// So many of the newest such results stay; 0 expires all.
    pub keep_recent: usize,
    /// Longer ones, in characters, are left to trimming.
    pub max_chars: usize,
}

impl Default for EphemeralPolicy {
    fn default() -> Self {
        Self { enabled: true, keep_recent: 6, max_chars: 2000 }
    }
}

/// What only tells of something that went wrong (core.md ). Unanswered calls are always
/// answered, since the API demands it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrunePolicy {
    /// Entries that only report an error of the API go.
    pub drop_api_errors: bool,
    /// Results that an interrupt left behind become a plain marker.
    pub neutralize_interrupts: bool,
    /// So many of the newest refusals by a guard stay; 0 keeps none.
    pub keep_denials: usize,
}

impl Default for PrunePolicy {
    fn default() -> Self {
        Self { drop_api_errors: true, neutralize_interrupts: true, keep_denials: 1 }
    }
}

/// Thinking blocks are bound to the conversation they were made in: another model, endpoint or system
/// prompt may refuse them, and then for ever. They stay byte for byte or go whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThinkingPolicy {
    /// All of them stay.
    #[default]
    Keep,
    /// Those before the newest prompt go: outside the current tool loop the API does not need them.
    StripOld,
    /// All of them go: the answer to "invalid signature".
    Strip,
}
