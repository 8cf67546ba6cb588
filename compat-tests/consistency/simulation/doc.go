// Package simulation runs whole servers in a bubble of testing/synctest: the time is
// virtual, connections are memory, and the files lie on a disk that forgets what was not
// synced. Clients go through the wire protocol and the whole chain of commands; they write,
// read, run transactions, follow change streams and let documents expire, while collections
// are split, merged and resharded and throughput runs out. Meanwhile the power fails,
// syncs of the log are slow or fail, connections break and the clock on the wall jumps. A
// model knows what was acknowledged, what was refused and what nobody can know.
//
//	CANTLE_SEED   this one only, with a log of what happened
//
// What a seed decides: the operations of each client and the virtual times between them, how
// long messages and syncs take, which fault strikes when, and what a power cut leaves of
// what was not synced. As the virtual time stands still until everybody waits, one thing
// happens after the other except where several become due in the same instant or start
// each other. What it does not decide is the order in which Go runs goroutines that
// could run at the same instant, which of several ready cases a select takes, the order
// of maps, and random ids. So a seed that found a fault finds it again most times, not
// always; TestAgain prints how often.
package simulation
