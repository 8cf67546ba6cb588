// Package wreck reads the files of a Pebble store as they lie on a disk, without
// opening it and without writing anything: what is damaged in them, and what can be
// read beside the damage.
//
//	Survey ──► Folder: manifest, logs, damages that an opening would meet
//	             │
//	             ├─ Tables    the table files, with the keys that each holds
//	             ├─ Verify    every checksum of every table
//	             └─ Scan      the newest version of each key that is left, in order
//
// Pebble takes the first record of a log or a manifest that it cannot read for its
// end, unless what follows in later blocks says otherwise, and forgets the rest; tables
// that a manifest does not name any more it deletes. That is right after a power cut and
// wrong after a disk has lost a bit. Here both are told apart: by records that can be read
// behind the bad one, by sequence numbers that do not go on where the ones before ended,
// and by the mark that says how far the log was synced (Mark).
//
// Formats: the chunks of logs and manifests (chunks.go), version edits as far as their
// first fields (manifest.go), batches (log.go), and tables with columnar blocks
// (table.go), whose data blocks are found without the index where that is lost.
//
// Glossary. Damage: bytes that fail their checksum or are not there. Torn: an end that a
// crash leaves. Outdated: a version of a key above which a damaged block may have held
// another one.
package wreck
