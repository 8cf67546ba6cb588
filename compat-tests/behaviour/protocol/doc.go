// Package protocol sends frames that no driver sends: broken, huge or incomplete ones. The server must answer each
// with an error or close the connection, and continue to serve other connections.
package protocol
