//! What a process may do beyond files: given up by tools, and flower's own memory closed to them.

use std::io;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

/// Closes this process to others of the same user: neither its memory nor its environment, which may
/// hold a key, can be read, and it leaves no core file. To be called first thing.
///
/// Without effect where the system does not know it; there is nothing else to be done then.
pub fn shield() {
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Takes all capabilities but `kept` from this thread and all that it starts, for ever.
///
/// They do not come back with a program that would have them: neither by its mode nor by being root.
pub(super) fn give_up(kept: CapabilitySet) -> io::Result<()> {
    set_no_new_privs(true)?;
    let _ = clear_ambient_capability_set();
    let had = capabilities(None)?;
    if had.effective.contains(CapabilitySet::SETPCAP) {
        for (_, one) in CapabilitySet::all().iter_names().filter(|(_, one)| !kept.contains(*one)) {
            // One that this kernel does not know cannot be had either.
            let _ = remove_capability_from_bounding_set(one);
        }
    }
    let left = had.permitted & kept;
    let sets =
        CapabilitySets { effective: left, permitted: left, inheritable: CapabilitySet::empty() };
    Ok(set_capabilities(None, sets)?)
}
