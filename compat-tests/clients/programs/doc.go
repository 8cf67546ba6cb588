// Package programs runs the own test suites of programs that use MongoDB (mappers, plugins of Mongoose, queues,
// frameworks), unmodified, against the server.
//
// programs.txt is the table: for each program the package and its version, what is installed beside it, and the
// arguments of its test runner. The sources with the tests come from the package registries of Python (source
// distributions) and npm, so only programs whose packages contain their tests are here. They are unpacked into
// .cache/programs; nothing of them is in this repository. A program without the needed tools or registry is skipped.
//
// scoreboard.txt has the results, and a reason for each known failure (see compat-tests/clients/scoreboard); a row has
// the least number of tests that must pass. go run ./scripts/gendocs prints both into docs/programs.md. A new program
// is a paragraph in programs.txt and a run that writes its row:
//
//	CANTLE_LONG=1 go test ./compat-tests/clients/programs -run TestPrograms/NAME -rescore
//
// The programs run one after another, because many of them expect the server on port 27017; if another program has
// that port, these are skipped. Only long runs include them.
package programs
