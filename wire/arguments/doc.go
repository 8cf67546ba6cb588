// Package arguments reads what a client says in the document of a command: its own arguments,
// each by name and type, in the words that MongoDB has for what is wrong with them.
//
// A command visits its arguments with Reader.Each, which refuses unknown and repeated ones
// and leaves out the generic ones, which the chain of wire/command reads. Null is as good as
// absent: a missing value gives the zero and no error.
package arguments
