// Package disk runs whole servers inside the test over a simulated disk that loses power at every changing file
// operation, fails the n-th operation of each kind, is full or slow.
//
//	scenario   what a server does in one life, step by step, and what each step changes
//	machine    a disk with a server on it, and the connection to it
//	state      all data that a server returns, for comparing
//	cuts       the disk is copied before each operation, as a power cut would leave it; a second
//	           server opens each copy and returns its contents
//	errors     the n-th operation of a kind fails, once or from then on
//	hardship   a disk that is full or slow, a clock that steps, little memory, few files
//
// Each change of a step is atomic: after a fault it is there or not, and it is there if the step was acknowledged.
// Of an atomic step, all changes are there or none.
//
//	CANTLE_LONG   nightly or release: how much is done (package programme)
//	CANTLE_SEED   of one round, as a failure prints it
package disk
