// Package cursor keeps the streams that stay open between a command's first batch and
// the getMores that follow.
//
//	find ── Add ─► Cursor ── Batch … Checkin ─► waiting ── Checkout ─► Batch … Checkin
//	                                              │
//	                                  kill · idle too long · session or transaction ended
//
// A cursor is used by one command at a time; a second one is refused, not queued. What it
// streams is a Source, which the cursor owns and closes exactly once. A kill while a
// command uses the cursor interrupts the command; the source is closed at its Checkin.
//
// Glossary. Pinned: checked out by a running command. Poisoned: the namespace is gone; the
// cursor stays, so that the next getMore learns why it ends.
//
// Manual: tutorial/iterate-a-cursor, reference/command/getMore, killCursors.
package cursor
