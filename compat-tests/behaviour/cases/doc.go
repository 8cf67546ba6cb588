// Package cases runs the end-to-end case files below its folder under every
// configuration of compat-tests/behaviour/configs. The folders are named after the features: command/,
// crud/, sharding/, and so on. compat-tests/rig/harness describes the notation.
//
//	go test ./compat-tests/behaviour/cases -run 'TestCases/memory/crud/insert.txt:8'
//	go test ./compat-tests/behaviour/cases -rewrite     only the configuration memory writes
package cases
