// Package console is what the server shows to a browser: a page, and the JSON API that the
// page is made from (docs/console.md has it for users).
//
// It has no way of its own into the data. What it shows of databases it asks the server by
// commands, as any client does, in the name of the user who has logged in: so privileges,
// budgets, logs and charges are those of the command. Only the history of partitions
// (shard/history) is read directly, after the same privileges were looked at.
//
//	caller.go     a connection without a network, and a command sent over it
//	guard.go      who may ask at all: addresses, origins, logins
//	routes.go     the API as a table: one row per address, with what answers it
//	api_*.go      the answers
//	live.go       what is sent once a second
//	assets/       the page: no build step, vendored libraries with their licences
package console
