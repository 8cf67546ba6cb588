// Package driver tests the server through the official Go driver, the way an
// application uses it: CRUD, bulk writes, cursors, indexes, aggregation, sharded
// collections, transactions, throttling, and a data set of 100,000 documents whose
// answers the test computes itself.
package driver
