// Package upgrade opens the folders that released formats have left (released/*.zip, each
// with what it should hold), asks them everything, writes to them and opens them again; and
// shows that a folder of a newer format is refused. docs/upgrades.md is the promise.
//
//	go test ./compat-tests/faults/upgrade -run TestMake -make 0.1
//
// makes the folder of a release, once, before it is released; it is never made again. In history lie folders of programs from before the
// first release (TestMakeHistory); TestHistory opens them.
package upgrade
