// Package console serves the browser console: a page, and the JSON API that the page uses (docs/console.md describes
// both for users).
//
// The console reads and changes documents by commands only, as the user that has logged in, so the privileges,
// budgets, logs and charges of commands apply. It reads the history of partitions (shard/history), counts and sizes
// directly, and returns them after a check of the same privileges.
//
//	caller.go     a connection without a network, and a command sent over it
//	authorize.go  checks of requests: addresses, origins, logins
//	routes.go     the API as a table: one row per address, with the function that answers it
//	api_*.go      those functions
//	live.go       the live stream, sent once a second
//	assets/       the page: no build step, vendored libraries with their licences
package console
