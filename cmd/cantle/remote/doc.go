// Package remote is a server as verbs of the program use it that send many commands: a function that runs one command,
// and the errors of the server with their codes. It does not depend on a driver, so that the tests of a verb can run
// commands in another way.
package remote
