// Package prices compares the price lists with what the service was published to charge: a row for each published charge, what
// it was measured on, and the same operation on the same shape of data at a real server, over TCP. docs/prices.md is printed
// from it.
package prices
