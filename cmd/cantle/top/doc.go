// Package top shows the load of a server in a terminal, for the verb cantle top. It is a client of the console's JSON
// API (docs/console.md), to which it sends requests at an interval (--every).
//
//	options.go  the flags
//	connect.go  finding the console
//	client.go   requests to the console
//	state.go    the parts that are shown, and the keys that change them
//	screen.go   the lines of a screen
//	spark.go    numbers as blocks
//	run.go      the loop: keys, seconds, the terminal
package top
