package access

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/kept"
)

// accountName is the setting that keeps the key of the account.
const accountName = "cosmosAccount"

// keyBytes is how long the keys of accounts are, before base64.
const keyBytes = 64

// OpenAccount makes the account of the Cosmos listener: its name is the user, its
// key the password, and it may do everything. Without a key the one kept in the
// store is used, made at the first time.
// Source: Azure Cosmos DB for MongoDB, "connect-account" (user name and password).
// Errors: those of the store; a key that SASLprep does not allow.
func OpenAccount(ctx context.Context, s storage.Store, name, key string) (*auth.User, string, error) {
	if name == "" {
		return nil, "", fmt.Errorf("the account needs a name")
	}
	if key == "" {
		err := kept.Change(ctx, s, accountName, func(was bson.Raw) (bson.Raw, error) {
			if key, _ = was.Get("key").Str(); key != "" {
				return nil, nil
			}
			secret := make([]byte, keyBytes)
			rand.Read(secret) // never fails
			key = base64.StdEncoding.EncodeToString(secret)
			b := bson.NewBuilder(nil)
			b.String("key", key)
			return b.Doc(), nil
		})
		if err != nil {
			return nil, "", err
		}
	}
	u := &auth.User{
		Name: auth.Name{Name: name, DB: "admin"}, ID: auth.NewUserID(),
		Roles: []auth.Name{{Name: "__system", DB: "admin"}}, Credentials: map[auth.Mechanism]auth.Credential{},
	}
	for _, m := range []auth.Mechanism{auth.ScramSHA1, auth.ScramSHA256} {
		c, err := auth.NewCredential(m, name, key, false, accountIterations)
		if err != nil {
			return nil, "", err
		}
		u.Credentials[m] = c
	}
	return u, key, nil
}

// accountIterations is less than for passwords that people think of: nobody guesses
// a key.
const accountIterations = 5000
