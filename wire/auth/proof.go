package auth

import (
	"github.com/xdg-go/scram"
	"github.com/xdg-go/stringprep"
)

// Proof is a client's side of a login by SCRAM, for who asks for a password in place of a
// driver. Not safe for concurrent use.
type Proof struct{ talk *scram.ClientConversation }

// NewProof begins to prove that somebody knows a user's password.
// Errors: characters that SASLprep does not allow.
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

// Step answers a challenge of the server; the first one is empty.
// Errors: a challenge that is none, or not of the server that keeps the password.
func (p *Proof) Step(challenge string) (string, error) { return p.talk.Step(challenge) }
