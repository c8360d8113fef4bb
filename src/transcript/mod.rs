//! Words: the transcript shape that flower shares with other transcript tools.
//!
//! An entry is its raw text plus a few fields read from it. The raw text is what is stored, so that
//! nothing a model said is lost in a detour through a JSON tree (lone surrogates, long numbers, key order).

mod block;
mod draft;
mod entry;
mod key;
mod outline;
mod raw;
mod salvage;
mod scan;
mod usage;

pub use block::{Block, Body};
pub use draft::{Draft, DraftKind, Origin};
pub use entry::{BlockEdit, Edited, Entry, EntryError, Message};
pub use key::{SessionKey, new_id, project_key};
pub use outline::{BlockOutline, Kind, MessageOutline, Outline, Shape};
pub use raw::{RawObject, decode_string, field, remove_field, splice_field};
pub use salvage::{Damage, Salvage, salvage, salvage_all};
pub use scan::Span;
pub use usage::Usage;
