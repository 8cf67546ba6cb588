package auth

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"

	"github.com/xdg-go/scram"
	"github.com/xdg-go/stringprep"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage"
)

// Mechanism is a way to prove to be a user.
type Mechanism string

// The mechanisms. Spec: auth.
const (
	ScramSHA1   Mechanism = "SCRAM-SHA-1"
	ScramSHA256 Mechanism = "SCRAM-SHA-256"
	X509        Mechanism = "MONGODB-X509"
)

// known reports a mechanism that credentials are kept for.
func (m Mechanism) known() bool { return m == ScramSHA1 || m == ScramSHA256 }

// hash is the hash function of a SCRAM mechanism.
func (m Mechanism) hash() scram.HashGeneratorFcn {
	if m == ScramSHA1 {
		return scram.SHA1
	}
	return scram.SHA256
}

// saltBytes is the length of a salt: that of the hash less the four bytes that the
// algorithm appends, as MongoDB has it.
func (m Mechanism) saltBytes() int {
	if m == ScramSHA1 {
		return 16
	}
	return 28
}

// Credential is what is kept of a password. RFC 5802.
type Credential struct{ scram.StoredCredentials }

// NewCredential makes the credential of a password. For SCRAM-SHA-1 the password is
// digested with the user's name first, unless the client did so; for SCRAM-SHA-256
// it is prepared by SASLprep. It takes milliseconds, by intent.
// Spec: auth (SCRAM-SHA-1, SCRAM-SHA-256). Errors: BadValue (2).
func NewCredential(m Mechanism, user, password string, digested bool, iterations int) (Credential, error) {
	if m == ScramSHA256 {
		prepared, err := stringprep.SASLprep.Prepare(password)
		if err != nil {
			return Credential{}, mongoerr.New(mongoerr.BadValue, "Password contains characters that SASLprep does not allow: %s", err)
		}
		password = prepared
	} else if !digested {
		password = Digest(user, password)
	}
	c, err := m.hash().NewClientUnprepped(user, password, "")
	if err != nil {
		return Credential{}, err
	}
	salt := make([]byte, m.saltBytes())
	rand.Read(salt) // never fails
	stored, err := c.GetStoredCredentialsWithError(scram.KeyFactors{Salt: string(salt), Iters: iterations})
	return Credential{stored}, err
}

// Digest is what MongoDB's first versions kept of a password, which SCRAM-SHA-1
// takes in its place. Spec: auth (SCRAM-SHA-1).
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

// Users finds the users that a conversation may be about.
type Users interface {
	// User finds a user; nil is none.
	User(n Name) *User
}

// Conversation is one attempt to log in by SCRAM. Not safe for concurrent use.
type Conversation struct {
	Mechanism Mechanism
	// User is whom the client claims to be, known after the first step.
	User Name
	// Found is that user as it was when the conversation began, nil if there is
	// none. It is proven only once Done reports so.
	Found *User
	// Otherwise says that the user exists and logs in by other mechanisms.
	Otherwise bool

	step *scram.ServerConversation
}

// Start begins a conversation about a user of a database. Somebody who does not
// exist, or cannot log in this way, is met with a credential made up from the name,
// so that only the proof fails and no one learns which names exist.
// Errors: those of the mechanism's library.
func (d *Directory) Start(users Users, m Mechanism, db string) (*Conversation, error) {
	c := &Conversation{Mechanism: m}
	s, err := m.hash().NewServer(func(name string) (scram.StoredCredentials, error) {
		c.User = Name{name, db}
		if u := users.User(c.User); u != nil {
			if cred, ok := u.Credentials[m]; ok {
				c.Found = u
				return cred.StoredCredentials, nil
			}
			c.Otherwise = true
		}
		return d.fabricate(m, c.User), nil
	})
	if err != nil {
		return nil, err
	}
	c.step = s.NewConversation()
	return c, nil
}

// The iterations of credentials, as MongoDB's parameters have them at first.
const (
	sha1Iterations   = 10_000
	sha256Iterations = 15_000
)

// fabricate is a credential that nobody has the password of, always the same for a
// name.
func (d *Directory) fabricate(m Mechanism, n Name) scram.StoredCredentials {
	mac := hmac.New(sha256.New, d.decoy[:])
	mac.Write(append([]byte(m+"\x00"), n.key()...))
	sum := mac.Sum(nil)
	key := sha256.Sum256(sum)
	iterations := sha256Iterations
	size := sha256.Size
	if m == ScramSHA1 {
		iterations, size = sha1Iterations, 20
	}
	return scram.StoredCredentials{
		KeyFactors: scram.KeyFactors{Salt: string(sum[:m.saltBytes()]), Iters: iterations},
		StoredKey:  key[:size], ServerKey: key[:size],
	}
}

// ErrProof says that the client did not prove to be the user.
var ErrProof = errors.New("the proof of the password is wrong")

// Step answers a message of the client.
// Errors: ErrProof; what is wrong with the message.
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

// Done reports that the user is proven.
func (c *Conversation) Done() bool { return c.step.Done() && c.step.Valid() && c.Found != nil }

func newSecret() (s [32]byte) {
	rand.Read(s[:]) // never fails
	return s
}
