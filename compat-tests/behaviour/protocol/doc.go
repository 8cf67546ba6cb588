// Package protocol sends frames that no driver sends: broken ones, huge ones, half
// ones. Whatever comes, the server answers with an error or closes that connection, and goes on
// serving the others.
package protocol
