//go:build !unix

package main

// lowestPriority does nothing where there are no such priorities.
func lowestPriority() error { return nil }
