// Package crash kills the server in the middle of writes and checks what is left:
// every acknowledged write is there, no document is half written, and every index
// agrees with the documents.
//
//	CANTLE_CRASH_ROUNDS   kills per test (20)
//	CANTLE_SOAK           if set, 500 rounds
package crash
