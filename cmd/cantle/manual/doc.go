// Package manual prints the help of the program's commands in other forms than --help: the reference in Markdown, and
// the man pages. Both are made from the command definitions in package cli.
package manual
