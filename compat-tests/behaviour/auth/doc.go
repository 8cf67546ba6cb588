// Package auth logs in to servers as clients do: with the official Go driver and mongosh, by SCRAM and by
// certificate, over plain and encrypted connections.
//
// The privileges of commands are tested with the command table in wire/command. This package tests
// authentication.
package auth
