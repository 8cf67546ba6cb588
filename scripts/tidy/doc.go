// Package tidy holds the rules of this repository that a machine can check. They run as a test (`go test
// ./scripts/tidy`), over the syntax of every Go file, and each failure prints the reason of its rule.
//
// floors_test.go has the floors of the folders and the imports that stay apart, library_users_test.go the packages
// that may use each library; a new package or library needs a row there. rules_test.go lists the rules.
// fixtures_test.go shows each rule failing on code that breaks it: a new rule needs a row there, too.
package tidy
