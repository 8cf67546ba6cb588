// Package testenv reads the environment variables of the tests, each of which has a row in Variables; no other
// package reads them. It depends on the standard library only, so that any package can import it in its tests.
package testenv
