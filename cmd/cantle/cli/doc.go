// Package cli holds the verbs of the cantle program, which are all its commands but serve: each is a function from
// flags and streams to an error, in a file of its own or several. Run makes the exit status of the error.
package cli
