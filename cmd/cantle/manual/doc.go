// Package manual prints the help of the program's commands in other forms than --help: the reference in Markdown,
// the man pages, and the scripts by which shells complete command lines. All of them are made from flags.Command,
// of which package cli has the list.
package manual
