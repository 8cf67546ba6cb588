// Package privileges runs every command and every stage as a user of each built-in role, on a
// database of the role, on another one and on collections of the system, and compares who is
// refused with what the manual says.
//
// testdata/matrix.txt is what the server does, a letter for each role that is let through;
//
//	go test ./compat-tests/behaviour/privileges -rewrite
//
// writes it anew. What the manual says stands in testdata/roles.txt (which role may do what) and beside each
// request (what it needs). Where the two differ the deviation stands, with its reason, in
// deviations_test.go.
//
// Which privilege each command needs, and that it does not get by with less, is tested
// beside the table: TestPrivileges in wire/rooms.
package privileges
