// Package auth logs in to servers as clients do: the official Go driver and mongosh,
// by SCRAM and by certificate, over plain and encrypted connections.
//
// What each command needs is compared with the command table in wire/command; here
// it is about who gets in, and how.
package auth
