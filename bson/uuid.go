package bson

import "crypto/rand"

// NewUUID makes a random UUID (version 4).
// Source: RFC 9562, section 5.4.
func NewUUID() (u [16]byte) {
	rand.Read(u[:]) // never fails
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return u
}
