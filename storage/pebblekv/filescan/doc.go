// Package filescan reads the files of a Pebble store from a disk without opening the store and without writing. It
// finds damage, and reads the data that are not damaged, for checking and salvaging a store.
//
//	ReadFolder ──► Folder: manifest, logs, damages that an open would find
//	                 │
//	                 ├─ ListTables  the table files, with the range of keys of each
//	                 ├─ Verify      checks every checksum of every table
//	                 └─ Scan        the newest remaining version of each key, in order
//
// When Pebble opens a store, it takes the first unreadable record of a log or a manifest for the end of that file,
// unless later blocks contradict that, and drops the rest. It deletes tables that the manifest does not list. Both
// are right after a power cut, and wrong after a disk has lost a bit. This package distinguishes the two cases: by
// readable records after the unreadable one, by gaps in the sequence numbers, and by the mark that records how far
// the log was synced (Mark).
//
// Formats: the chunks of logs and manifests (chunks.go), version edits with their first
// fields (manifest.go), batches (log.go), and tables with columnar blocks (table.go),
// whose data blocks are found without the index if the index is lost.
//
// Terms. Damage: bytes that fail their checksum or are missing. Torn: the incomplete end
// of a file that a crash leaves. Outdated: a version of a key for which a damaged block
// may have held a newer one.
package filescan
