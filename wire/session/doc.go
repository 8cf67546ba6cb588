// Package session remembers logical sessions: who they are, when they were last used, the
// transaction in progress, and the results of retryable writes.
//
//	command ── Touch ───────────────► last use                   (lsid alone)
//	        ── Checkout ─► Session ─► state machine ─► Checkin   (lsid and txnNumber)
//	                          │
//	                          ├─ transaction: None → InProgress → Committed | Aborted
//	                          └─ retryable write: statement → result
//
// A session runs one numbered command at a time; Checkout waits for the one before. A
// higher txnNumber ends what a lower one left open. What a transaction holds in the store
// is opened by the caller at its first read or write and given to the session with Attach;
// the session ends it with Commit, Abort, or when it expires or is killed.
//
// The package translates no storage errors and attaches no labels; the command chain does.
//
// Glossary. Logical session: what a driver calls ClientSession, named by lsid. txnNumber:
// counts the transactions and retryable writes of a session. stmtId: counts the statements
// of one retryable write. Ending: commitTransaction and abortTransaction.
//
// Spec: driver-sessions, transactions, retryable-writes.
// Manual: reference/server-sessions, core/transactions, core/retryable-writes.
package session
