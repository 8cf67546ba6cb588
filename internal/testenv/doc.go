// Package testenv reads the environment variables of the tests, each of which has a row in Variables. No other
// package of the workspace reads them, apart from client programs, which are started like those of users. The
// package depends on the standard library only, so that any package can import it in its tests.
package testenv
