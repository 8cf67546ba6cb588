// Package auth logs in to servers as clients do: with the official Go driver, by SCRAM and by certificate, over plain
// and encrypted connections.
//
// The privileges of commands are tested elsewhere, with the command table in wire/command: this package tests the
// login itself, and attempts to bypass authorization.
package auth
