// Package cursor keeps the streams that stay open between a command's first batch and the
// getMores that follow.
//
//	find ── Add ─► Cursor ── Append … Checkin ─► idle ── Checkout ─► Append … Checkin
//	                                              │
//	                                  kill · idle too long · memory full · session, transaction or user ended
//
// A cursor is used by one command at a time; the second one is refused, not queued. A
// cursor owns its Source, which produces the documents, and closes it exactly once. If a
// cursor is killed while a command uses it, the command is interrupted; the source is
// closed at the command's Checkin.
//
// Glossary. Pinned: checked out by a running command. Poisoned: the namespace was dropped
// or renamed; the cursor stays, so that the next getMore returns the reason.
//
// Manual: tutorial/iterate-a-cursor, reference/command/getMore, killCursors.
package cursor
