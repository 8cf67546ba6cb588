// Package privileges runs every command and every stage as a user of each built-in role, on a database of the role,
// on another one and on system collections, and compares the refusals with the manual.
//
// testdata/matrix.txt records the behaviour of the server: in each row, a letter for each role that is authorized.
//
//	go test ./compat-tests/behaviour/privileges -rewrite
//
// writes the file anew. The privileges by the manual are in testdata/roles.txt (the actions of each role) and beside
// each request (the required actions). Where the server differs from the manual, deviations_test.go has the deviation
// with its reason.
//
// TestPrivileges in wire/rooms tests each command with the privileges in the server's table, and without one of them.
package privileges
