// Package mql holds what the language packages (expr, match, project, update,
// order, index, agg) share: the environment of one command.
//
// An Env is made when a command starts and forgotten when it ends. It carries
// the command's context, which is against the usual advice and deliberate: it
// is about one command, is never stored beyond it, and is asked every 128 rows
// whether the command should go on. A goroutine that works for the command in
// parallel takes a Fork of its own.
package mql
