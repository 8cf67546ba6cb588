// Package cases runs the end-to-end case files below its directory under every
// configuration of compat-tests/configs. The tree mirrors the features: command/,
// crud/, sharding/, and so on. compat-tests/harness has the notation.
//
//	go test ./compat-tests/cases -run 'TestCases/memory/crud/insert.txt:8'
//	go test ./compat-tests/cases -rewrite     only the configuration memory writes
package cases
