// Package planned tests the changes of throughput that a server makes at their times, with the clock that tests advance:
// case files below cases/ against a server with the commands of tests, and the same across the death of the server.
package planned
