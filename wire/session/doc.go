// Package session stores logical sessions: their ids, the times of their last use, the
// transaction in progress, and the results of retryable writes.
//
//	command ── Touch ───────────────► last use                   (lsid alone)
//	        ── Checkout ─► Session ─► state machine ─► Checkin   (lsid and txnNumber)
//	                          │
//	                          ├─ transaction: None → InProgress → Committed | Aborted | Undetermined
//	                          └─ retryable write: statement → result
//
// A session runs one numbered command at a time; Checkout waits for the command before. A
// higher txnNumber ends the transaction of a lower one. The caller opens the store's
// transaction at the first read or write and gives it to the session with Attach; the
// session ends it with Commit, with Abort, or when it expires, is killed or is followed by
// a higher txnNumber.
//
// The package translates no storage errors and attaches no labels; the command chain does.
//
// Glossary. Logical session: ClientSession in drivers, identified by lsid. txnNumber:
// counts the transactions and retryable writes of a session. stmtId: counts the statements
// of one retryable write. Ending: commitTransaction and abortTransaction.
//
// Spec: driver-sessions, transactions, retryable-writes.
// Manual: reference/server-sessions, core/transactions, core/retryable-writes.
package session
