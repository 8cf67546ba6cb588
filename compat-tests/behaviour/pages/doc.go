// Package pages follows the instructions of the README and of the pages in docs: it runs every fenced block of every
// page, from the top to the bottom, in a folder of the page's own and against a server that is started for the page.
//
// The first word behind the fence is the kind of the block:
//
//	sh     runs in bash, which ends at the first command that fails. cantle and
//	       mongosh are in the PATH, and ./cantle exists, too. `cantle serve` is started
//	       in the background, and waited for; it replaces an earlier server at its address,
//	       and is stopped at the end of the page
//	js     typed into mongosh, statement by statement, in one shell for the page. A
//	       statement is a line with those below it that are indented or begin with a
//	       closing bracket. One that ends with " // text" must print that text. Lines that
//	       begin with // are for readers only. None may fail
//	mjs    a program for Node, with the driver "mongodb"
//	py     a program for Python, with PyMongo
//	go     a program, or tests if it imports testing, that may import what this module may
//	text   nothing that runs
//
// Further words, which readers do not see, change that:
//
//	file=NAME      the block, of any language, is written to that file
//	output         the block, of text, is the expected output of the block before. … stands
//	               for anything within a line, a line of … for any lines
//	uri=URI        the address of the shell that a js block is typed into
//	skip="WHY"     the block cannot run here. The test lists these
//
// Blocks of other languages need one of file and skip. A comment
//
//	<!-- server: --flag ... -->
//
// before the first block gives the page's server flags; "none" starts no server. Addresses with ports
// (127.0.0.1:27017, localhost:27018) are replaced by free ports, the same one everywhere on a page.
//
// With -rewrite, the output of a js statement replaces its comment if they differ, and the output is one line without
// an error.
//
// What cannot run here is checked as far as possible: YAML for containers and CI with its commands and variables of cantle
// (TestYAML), connection strings and programs of C# and Java (TestSnippets). TestReaders checks that each kind of user
// finds its page in one click.
//
// The files of a page stay in .cache/pages/NAME, with the logs of its servers.
package pages
