// Package top shows the load of a server in a terminal: cantle top. It is a client of the console's JSON API
// (docs/console.md), and requests it once a second.
//
//	options.go  the flags
//	connect.go  finding the console
//	client.go   requests to the console
//	state.go    what is shown, and how keys change it
//	screen.go   the lines of a screen
//	spark.go    numbers as blocks
//	run.go      the loop: keys, seconds, the terminal
package top
