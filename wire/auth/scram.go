package auth

import (
	"crypto/md5"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"

	"github.com/xdg-go/scram"
	"github.com/xdg-go/stringprep"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage"
)

// Mechanism is an authentication mechanism.
type Mechanism string

// The mechanisms. Spec: auth.
const (
	ScramSHA1   Mechanism = "SCRAM-SHA-1"
	ScramSHA256 Mechanism = "SCRAM-SHA-256"
	X509        Mechanism = "MONGODB-X509"
)

// known reports whether credentials of the mechanism are stored.
func (m Mechanism) known() bool { return m == ScramSHA1 || m == ScramSHA256 }

// hash returns the hash function of a SCRAM mechanism.
func (m Mechanism) hash() scram.HashGeneratorFcn {
	if m == ScramSHA1 {
		return scram.SHA1
	}
	return scram.SHA256
}

// saltBytes returns the length of a salt in bytes: the length of the mechanism's hash minus the four bytes that the
// algorithm appends, as in MongoDB.
func (m Mechanism) saltBytes() int {
	if m == ScramSHA1 {
		return 16
	}
	return 28
}

// Credential is the stored form of a password. RFC 5802.
type Credential struct{ scram.StoredCredentials }

// NewCredential makes the credential of a password, which checks later logins without the password. For SCRAM-SHA-1
// the password is first digested with the user's name, unless the client did so (digested); for SCRAM-SHA-256
// SASLprep prepares it. It takes milliseconds, so that guessing from a stolen credential is slow. Spec: auth
// (SCRAM-SHA-1, SCRAM-SHA-256). Errors: BadValue (2).
func NewCredential(m Mechanism, user, password string, digested bool, iterations int) (Credential, error) {
	if m == ScramSHA256 || !digested {
		var err error
		if password, err = prepare(m, user, password); err != nil {
			return Credential{}, err
		}
	}
	salt := make([]byte, m.saltBytes())
	rand.Read(salt) // never fails
	return credential(m, user, password, scram.KeyFactors{Salt: string(salt), Iters: iterations})
}

// prepare returns a password in the form that the mechanism uses: digested for SCRAM-SHA-1, prepared by SASLprep for
// SCRAM-SHA-256. Errors: BadValue (2).
func prepare(m Mechanism, user, password string) (string, error) {
	if m == ScramSHA1 {
		return Digest(user, password), nil
	}
	prepared, err := stringprep.SASLprep.Prepare(password)
	if err != nil {
		return "", mongoerr.New(mongoerr.BadValue, "Password contains characters that SASLprep does not allow: %s", err)
	}
	return prepared, nil
}

// credential makes the credential of a prepared password.
func credential(m Mechanism, user, prepared string, f scram.KeyFactors) (Credential, error) {
	c, err := m.hash().NewClientUnprepped(user, prepared, "")
	if err != nil {
		return Credential{}, err
	}
	stored, err := c.GetStoredCredentialsWithError(f)
	return Credential{stored}, err
}

// Digest returns the digest of a user's password that MongoDB's first versions stored; SCRAM-SHA-1 uses it in place
// of the password. Spec: auth (SCRAM-SHA-1).
func Digest(user, password string) string {
	sum := md5.Sum([]byte(user + ":mongo:" + password))
	return hex.EncodeToString(sum[:])
}

func (c Credential) append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.Int32("iterationCount", int32(c.Iters))
	b.String("salt", base64.StdEncoding.EncodeToString([]byte(c.Salt)))
	b.String("storedKey", base64.StdEncoding.EncodeToString(c.StoredKey))
	b.String("serverKey", base64.StdEncoding.EncodeToString(c.ServerKey))
	b.End()
}

func parseCredential(v bson.Value) (c Credential, err error) {
	d, _ := v.Doc()
	n, ok := d.Get("iterationCount").Int32()
	bytes := func(name string) []byte {
		s, _ := d.Get(name).Str()
		out, e := base64.StdEncoding.DecodeString(s)
		if e != nil || len(out) == 0 {
			err = storage.ErrCorruption
		}
		return out
	}
	c.Iters, c.Salt, c.StoredKey, c.ServerKey = int(n), string(bytes("salt")), bytes("storedKey"), bytes("serverKey")
	if !ok {
		err = storage.ErrCorruption
	}
	return c, err
}

// Users finds the user of a conversation.
type Users interface {
	// User returns a user; nil if there is none.
	User(n Name) *User
}

// Conversation is one attempt of a client to log in by SCRAM, from the server's side. Not safe for concurrent use.
type Conversation struct {
	Mechanism Mechanism
	// User is the user that the client claims to be, set by the first step.
	User Name
	// Found is that user as it was at the beginning of the conversation; nil if there is none, or none with a
	// credential for Mechanism. The client has proven to be this user only if Done returns true.
	Found *User
	// OtherMechanisms means that the user exists but has no credential for Mechanism.
	OtherMechanisms bool

	step *scram.ServerConversation
}

// Start begins a conversation about a user of the database db. If the user does not exist, or cannot log in by this
// mechanism, the conversation uses a credential fabricated from the name, with the given iterations, as a new user
// has. So only the proof fails, and clients cannot find out which names exist. Errors: errors of the SCRAM library.
func (d *Directory) Start(users Users, m Mechanism, db string, iterations int) (*Conversation, error) {
	c := &Conversation{Mechanism: m}
	s, err := m.hash().NewServer(func(name string) (scram.StoredCredentials, error) {
		c.User = Name{name, db}
		decoy := d.fabricate(m, c.User, iterations) // for existing users too, so that timing reveals nothing
		if u := users.User(c.User); u != nil {
			if cred, ok := u.Credentials[m]; ok {
				c.Found = u
				return cred.StoredCredentials, nil
			}
			c.OtherMechanisms = true
		}
		return decoy, nil
	})
	if err != nil {
		return nil, err
	}
	c.step = s.NewConversation()
	return c, nil
}

// ErrProof is the error of Conversation.Step if, after the client's proof, the conversation is not valid or has no
// user, and the SCRAM library has reported no error.
var ErrProof = errors.New("the proof of the password is wrong")

// Step processes a message of the client and returns the server's next message. Errors: errors of the SCRAM library
// for an invalid message or a wrong proof; ErrProof.
func (c *Conversation) Step(message []byte) ([]byte, error) {
	last := c.User != Name{}
	reply, err := c.step.Step(string(message))
	if err != nil {
		return nil, err
	}
	if last && (!c.step.Valid() || c.Found == nil) {
		return nil, ErrProof
	}
	return []byte(reply), nil
}

// Done reports whether the client has proven to be the user.
func (c *Conversation) Done() bool { return c.step.Done() && c.step.Valid() && c.Found != nil }
