// Package arguments reads the arguments in the document of a command by name and type, and
// returns MongoDB's errors for invalid ones.
//
// A command visits its arguments with Reader.Each, which refuses unknown arguments and omits
// the generic ones, which the chain of wire/command reads. Null means absent: a missing value
// gives the zero value and no error.
package arguments
