//! Whether a folder lies on a file system where processes can share locks and memory.

use std::path::Path;

/// Kinds of file systems on which SQLite's write-ahead log is unsafe, by the number that `statfs`
/// reports (Linux, `linux/magic.h` and the systems' own headers). virtiofs reports itself as FUSE.
const SHARED: [(u32, &str); 12] = [
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB2"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "FUSE or virtiofs"),
    (0x5346_414F, "AFS"),
    (0x00C3_6400, "Ceph"),
    (0x0BD0_0BD0, "Lustre"),
    (0x4750_3653, "GPFS"),
    (0x7375_7245, "Coda"),
    (0x786F_4256, "vboxsf"),
];

/// The kind of file system, where it is one of those; nothing for a local one or where it is unknown.
pub(super) fn shared_file_system(folder: &Path) -> Option<&'static str> {
    let magic = magic(folder)?;
    SHARED.iter().find(|(number, _)| *number == magic).map(|(_, kind)| *kind)
}

#[cfg(target_os = "linux")]
fn magic(folder: &Path) -> Option<u32> {
    let status = rustix::fs::statfs(folder).ok()?;
    // The field's width differs between machines; the numbers all fit into 32 bits.
    Some((status.f_type & 0xFFFF_FFFF) as u32)
}

#[cfg(not(target_os = "linux"))]
fn magic(_folder: &Path) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_not_there_is_no_reason_for_anything() {
        assert_eq!(shared_file_system(Path::new("/no/such/folder")), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn proc_is_known_but_not_shared() {
        assert_eq!(magic(Path::new("/proc")), Some(0x9FA0));
        assert_eq!(shared_file_system(Path::new("/proc")), None);
    }
}
