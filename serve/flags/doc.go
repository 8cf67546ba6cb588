// Package flags parses command lines for operators: flags may stand before and after other arguments, errors use the
// words of the help and suggest the flag that was probably meant, and the help fits a terminal.
package flags
