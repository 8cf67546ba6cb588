// Package memory lets many clients at once make a server hold as much as they can: sorts and groups, messages
// that are announced and sent slowly or not at all, replies that no client reads, transactions that do not
// end. The server must keep this within its working memory (--work-memory), return errors to clients that it
// refuses, serve the others meanwhile, and free everything in the end.
package memory
