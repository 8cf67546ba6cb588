// Package concern reads what clients want of their reads and writes beside the results:
// the write concern, the read concern, the read preference and the cluster time that they
// pass on. What a command makes of it is up to wire/command.
package concern
