//! Words: the transcript shape that flower shares with other transcript tools.
//!
//! An entry is its raw text plus a few fields read from it. The raw text is what is stored, so that
//! nothing a model said is lost in a detour through a JSON tree (lone surrogates, long numbers, key order).

mod block;
mod draft;
mod entry;
mod key;
mod raw;
mod salvage;
mod usage;

pub use block::{Block, Body};
pub use draft::{Draft, DraftKind, Origin};
pub use entry::{BlockEdit, Edited, Entry, EntryError, Message};
pub use key::{SessionKey, new_id, project_key};
pub use raw::{RawObject, decode_string, remove_field, splice_field};
pub use salvage::{Damage, Salvage, salvage, salvage_all};
pub use usage::Usage;
