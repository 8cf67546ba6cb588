// Package mql holds what the language packages (expr, match, project, update, order, index, agg) share: the
// environment of one command, collations, regular expressions, and limits of memory and processor time.
//
// An Env lives as long as one command, or as the cursor that the command opens. It holds the command's context,
// against the usual advice and deliberately: the Env is never stored longer, and every 128 steps of work it checks
// whether the context has ended. A goroutine that works for the command in parallel has its own Fork.
package mql
