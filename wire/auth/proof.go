package auth

import (
	"github.com/xdg-go/scram"
	"github.com/xdg-go/stringprep"
)

// Proof is the client's side of a login by SCRAM, for programs that log in without a driver. Not safe for concurrent
// use.
type Proof struct{ conversation *scram.ClientConversation }

// NewProof begins a client's proof that it has a user's password. Errors: an error for characters that SASLprep does
// not allow.
func NewProof(m Mechanism, user, password string) (*Proof, error) {
	if m == ScramSHA1 {
		password = Digest(user, password)
	} else {
		var err error
		if password, err = stringprep.SASLprep.Prepare(password); err != nil {
			return nil, err
		}
	}
	c, err := m.hash().NewClientUnprepped(user, password, "")
	if err != nil {
		return nil, err
	}
	return &Proof{c.NewConversation()}, nil
}

// Step returns the answer to a challenge of the server; the first challenge is empty. Errors: an invalid challenge,
// or a challenge from a server that does not hold the credential of the password.
func (p *Proof) Step(challenge string) (string, error) { return p.conversation.Step(challenge) }
