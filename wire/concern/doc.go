// Package concern reads the write concern, the read concern, the read preference and the
// cluster time that clients send with a command. wire/command applies them.
package concern
