// Package disk runs whole servers inside the test over a disk that loses its power at every
// file operation, errs at the n-th of each kind, is full or slow.
//
//	scenario   what a server does in one life, step by step, and what each step changes
//	machine    a disk with a server on it, and the connection to it
//	state      all that a server tells of what it keeps, for comparing
//	cuts       the disk is copied before each operation, as a cut would leave it; a second
//	           server opens each copy and tells what is there
//	errors     the n-th operation of a kind fails, once or from then on
//	hardship   a disk that is full or slow, a clock that steps, little memory, few files
//
// Nothing is half there: what a step changes is there as it was before or as it is
// afterwards, and for a step that was answered, afterwards.
//
//	CANTLE_LONG   nightly or release: how much is done (package programme)
//	CANTLE_SEED   of one round, as a failure prints it
package disk
