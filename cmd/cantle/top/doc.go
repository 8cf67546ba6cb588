// Package top shows in a terminal what a server does: cantle top. It is a client of the
// console's JSON API (docs/console.md), asked once a second.
//
//	options.go  the flags
//	connect.go  where the console is
//	client.go   who is asked, and what
//	state.go    what is looked at, and what keys change of it
//	screen.go   the lines of a screen
//	spark.go    numbers as blocks
//	run.go      the loop: keys, seconds, the terminal
package top
