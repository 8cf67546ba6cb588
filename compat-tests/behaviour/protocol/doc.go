// Package protocol sends frames that no driver sends: broken, huge or incomplete ones. The server must answer
// each with an error or close that connection, and continue to serve others.
package protocol
