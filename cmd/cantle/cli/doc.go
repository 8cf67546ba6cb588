// Package cli holds the verbs of the cantle program, which are all its commands but serve: one file per verb, each a
// function from arguments and streams to an exit status.
package cli
