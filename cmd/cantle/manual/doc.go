// Package manual prints what there is to know about the commands of the program in other
// forms than --help: the reference in Markdown, the pages for man, and the scripts that
// let shells complete command lines. All of them are made from flags.Command, of which
// package cli has the list.
package manual
