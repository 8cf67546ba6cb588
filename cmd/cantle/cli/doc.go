// Package cli holds the verbs of the cantle program that are not the server: one
// file per verb, each a function from arguments and streams to an exit status.
package cli
