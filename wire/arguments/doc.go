// Package arguments reads the arguments in the document of a command by name and type, and
// returns MongoDB's errors for invalid ones.
//
// A command lists its arguments as rows (Arg) and passes them to Reader.ReadArgs, which refuses unknown
// arguments and omits the generic ones, which the chain of wire/command reads. Null means absent. The fields
// of an argument that is a document are rows too (Reader.ReadFields). Reader.Each visits arguments whose names
// are not fixed, such as those of setParameter; EachField visits the statements of a batch, which are many. hello
// visits its arguments too, for a small stack (wire/command/status).
package arguments
