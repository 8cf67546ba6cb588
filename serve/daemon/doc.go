// Package daemon assembles a running server: it opens the store, recovers catalog and
// counts, starts the background jobs and listens. It holds no logic of its own. Tests
// start servers with it inside their own process.
package daemon
