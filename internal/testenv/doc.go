// Package testenv has the environment variables of the tests, each with a row in Variables, and is the
// only one that reads them. It has no library of others, so that any package can import it in its tests.
package testenv
