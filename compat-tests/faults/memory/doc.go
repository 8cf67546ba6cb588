// Package memory lets many clients at once make a server hold as much as they can:
// sorts and groups, messages that are announced and sent slowly or not at all, replies
// that nobody reads, transactions that do not end. The server must keep what they hold
// within its working memory (--work-memory), tell those it refuses, serve the others
// meanwhile, and give everything back in the end.
package memory
