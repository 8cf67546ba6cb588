// Package flags reads command lines for people: flags may stand before and behind
// other arguments, mistakes are told in the words of the help, with the name that was
// probably meant, and the help fits a terminal.
package flags
