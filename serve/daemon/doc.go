// Package daemon assembles a running server: it opens the store, reads the catalog and the counts, starts the
// background jobs and listens. It also has the server's settings. Tests use it to start servers inside their own
// process.
package daemon
