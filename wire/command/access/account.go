package access

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/savedsettings"
)

// accountName is the name under which the store holds the key of the Cosmos listener's account.
const accountName = "cosmosAccount"

// keyBytes is the length of account keys, before base64.
const keyBytes = 64

// newKey returns a random key of the account, keyBytes long, in base64. Like keys of Azure Cosmos DB, it contains
// neither + nor /, because some clients decode a + in a connection string to a space.
func newKey() string {
	key := make([]byte, 0, keyBytes)
	for len(key) < keyBytes {
		group := make([]byte, min(3, keyBytes-len(key)))
		rand.Read(group) // never fails
		if !strings.ContainsAny(base64.StdEncoding.EncodeToString(group), "+/") {
			key = append(key, group...)
		}
	}
	return base64.StdEncoding.EncodeToString(key)
}

// Account is the account of the Cosmos listener, through which its clients log in. The account's name is the user
// name, its key the password, and it may do everything. It is safe for concurrent use.
// Source: Azure Cosmos DB for MongoDB, "connect-account" (user name and password).
type Account struct {
	name      auth.Name
	id        [16]byte
	key       string
	generated bool // OpenAccount generated the key, instead of reading it from the store

	mu         sync.Mutex
	cachedUser *auth.User // the user with credentials; recomputed if the iteration counts of SCRAM change
}

// OpenAccount returns the account of the Cosmos listener with a name and a key. If key is "", it uses the key in the
// store; at the first start it generates that key and stores it.
// Errors: an empty name; errors of the store; a key that SASLprep does not allow.
func OpenAccount(ctx context.Context, s storage.Store, name, key string) (*Account, error) {
	if name == "" {
		return nil, fmt.Errorf("the account needs a name")
	}
	drew := false
	if key == "" {
		err := savedsettings.Change(ctx, s, accountName, func(was bson.Raw) (bson.Raw, error) {
			if key, _ = was.Get("key").Str(); key != "" {
				drew = false
				return nil, nil
			}
			drew, key = true, newKey()
			b := bson.NewBuilder(nil)
			b.String("key", key)
			return b.Doc(), nil
		})
		if err != nil {
			return nil, err
		}
	}
	if _, err := auth.NewProof(auth.ScramSHA256, name, key); err != nil {
		return nil, err
	}
	return &Account{name: auth.Name{Name: name, DB: "admin"}, id: auth.NewUserID(), key: key, generated: drew}, nil
}

// Key returns the password of the account; drew is true if OpenAccount generated it, so that no client has it yet.
func (a *Account) Key() (key string, drew bool) { return a.key, a.generated }

// user returns the account in the form of a user with stored credentials, so that an attacker cannot distinguish the
// account from another user, or from a name that does not exist.
func (a *Account) user(s *command.Server) *auth.User {
	a.mu.Lock()
	defer a.mu.Unlock()
	if u := a.cachedUser; u != nil && u.Credentials[auth.ScramSHA1].Iters == iterations(s, auth.ScramSHA1) &&
		u.Credentials[auth.ScramSHA256].Iters == iterations(s, auth.ScramSHA256) {
		return u
	}
	u := &auth.User{Name: a.name, ID: a.id, Roles: []auth.Name{{Name: "__system", DB: "admin"}}, Credentials: map[auth.Mechanism]auth.Credential{}}
	for _, m := range []auth.Mechanism{auth.ScramSHA1, auth.ScramSHA256} {
		if c, err := s.Auth.CredentialOf(m, a.name, a.key, iterations(s, m)); err == nil { // OpenAccount has checked the key
			u.Credentials[m] = c
		}
	}
	a.cachedUser = u
	return u
}
