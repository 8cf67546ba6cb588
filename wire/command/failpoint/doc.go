// Package failpoint is the room of failures on demand: configureFailPoint, with which the
// tests of drivers and of applications let commands fail, connections break and this server
// end.
//
// It owns the fail points that are switched on, each address that the server listens on its
// own, and the one that kills the process at a step of a background job. It answers the
// chain's hook Fail, which the chain and commands call at the places where something can
// fail (command.FailPlace), and the steps of the jobs.
//
// Invariants: without --enable-test-commands there is no fail point, and the hook costs a
// look at one number. A fail point that is off fails nothing.
//
// Words: a mode says how often a fail point fires: always, a number of times, after a
// number, or by chance.
//
// Sources: the drivers' specification of unified tests (fail points), and the public
// descriptions of MongoDB's failCommand.
package failpoint
