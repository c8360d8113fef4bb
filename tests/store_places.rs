//! Where a session store may lie, and what happens when many want to make it.

#![cfg(unix)]
#![allow(clippy::unwrap_used, missing_docs)]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Barrier};

use flower::store::{SessionStore, SqliteStore};
use flower::transcript::{Entry, SessionKey};

async fn use_once(path: &Path, uuid: &str) {
    let store = SqliteStore::open(path).unwrap();
    let entry = Entry::parse(format!(r#"{{"type":"user","uuid":"{uuid}"}}"#)).unwrap();
    store.append(&SessionKey::main("p", "s"), &[entry]).await.unwrap();
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_path_is_a_path_whatever_stands_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let names: [&[u8]; 8] = [
        b"a?mode=memory",
        b"a#b",
        b"a%20b",
        b"a b'c\"d",
        b"\xff\xfe.db",
        b"a\nb",
        "\u{8bb0}\u{5f55}".as_bytes(),
        b"-journal",
    ];
    for name in names {
        let path = folder.path().join("in").join(OsStr::from_bytes(name));
        use_once(&path, "1").await;
        assert!(std::fs::metadata(&path).unwrap().len() > 0, "{path:?}");
        let found: Vec<_> = std::fs::read_dir(folder.path().join("in")).unwrap().collect();
        assert_eq!(found.len(), 1, "{path:?}: {found:?}");
        std::fs::remove_file(&path).unwrap();
    }
}

#[tokio::test]
async fn a_name_that_looks_like_an_address_is_still_a_file() {
    let path = Path::new("file:store-places-test.db?mode=memory");
    use_once(path, "1").await;
    let length = std::fs::metadata(path).map(|about| about.len());
    let _ = std::fs::remove_file(path);
    assert!(!Path::new("store-places-test.db").exists());
    assert!(length.unwrap() > 0);
}

#[test]
fn many_may_make_it_at_once() {
    for _ in 0..8 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/s.db");
        let start = Arc::new(Barrier::new(8));
        let writers: Vec<_> = (0..8)
            .map(|number| {
                let (path, start) = (path.clone(), Arc::clone(&start));
                std::thread::spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                    start.wait();
                    runtime.block_on(use_once(&path, &format!("u{number}")));
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let rows = runtime.block_on(async {
            let store = SqliteStore::open(&path).unwrap();
            store.load(&SessionKey::main("p", "s")).await.unwrap().unwrap().len()
        });
        assert_eq!(rows, 8);
    }
}
