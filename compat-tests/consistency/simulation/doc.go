// Package simulation runs whole servers in a bubble of testing/synctest: time is virtual, connections are in
// memory, and the files lie on a simulated disk that loses unsynced data. Clients use the wire protocol and
// all steps around commands; they write, read, run transactions, follow change streams and let documents
// expire, while collections are split, merged and resharded and budgets run out. Meanwhile the power fails,
// syncs of the log are slow or fail, connections break and the wall clock jumps. A model holds the outcome of
// each write: acknowledged, refused or undetermined.
//
//	CANTLE_SEED   TestSeeds runs only this seed, and logs what happened
//
// A seed determines: the operations of each client and the virtual times between them, the delays of messages
// and syncs, the times of faults (of a fault of the disk the number of the write operation that fails), and which
// unsynced data survive a power cut. Virtual time advances only
// when all goroutines wait, so events happen one after the other, except those that are due in the same
// instant or start each other. A seed does not determine the order in which Go runs goroutines that are ready
// in the same instant, which of several ready cases a select takes, the order of maps, and random ids. So a
// seed that found a bug finds it again most times, not always; TestAgain logs how often.
package simulation
