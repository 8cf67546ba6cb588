// Package visitors bounds what those who reach an HTTP address of the server can do to it before they have said who they are:
// how many connections they hold, and by which name they may ask.
package visitors
