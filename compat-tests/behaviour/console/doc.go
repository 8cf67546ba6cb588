// Package console tests the console from outside: its API by HTTP, with users and without, and its page in a headless
// browser. In most tests the server's clock stands still, so that every run sees the same history.
package console
