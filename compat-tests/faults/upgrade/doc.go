// Package upgrade opens folders of released formats (released/*.zip, each with its expected contents), reads all
// data, writes to them and opens them again. It also checks that a folder of a newer format is refused.
// docs/upgrades.md has the promise to users that these tests check.
//
//	go test ./compat-tests/faults/upgrade -run TestMake -make 0.1
//
// makes the folder of a release, once, before it is released; it is never made again. The folder history
// holds folders of programs from before the first release (TestMakeHistory); TestHistory opens them.
package upgrade
