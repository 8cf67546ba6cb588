// Package driver tests the server through the official Go driver, as an application uses it: CRUD, bulk writes,
// cursors, indexes, aggregation, sharded collections, transactions, change streams, throttling, shutdown, and a data
// set of 100,000 documents for which the test computes the right replies itself.
package driver
