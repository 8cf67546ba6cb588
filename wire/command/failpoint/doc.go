// Package failpoint is the room of failures on demand: configureFailPoint, with which the tests of drivers
// and of applications make commands fail, close connections and kill this server.
//
// The room holds the active fail points, which each listening address has separately, and the fail point that kills
// the process at a step of a background job. The room implements command.FailPoints, which the chain and commands
// call at places where a failure can be injected (command.FailPlace), and observes the steps of the jobs.
//
// Invariants: without --enable-test-commands there are no fail points, and Fail costs one atomic read. A
// fail point that is off has no effect.
//
// Words. Mode: how often a fail point fires: always, a number of times, after a number of times, or with a
// probability.
//
// Sources: the drivers' specification of unified tests (fail points), and the public
// descriptions of MongoDB's failCommand.
package failpoint
