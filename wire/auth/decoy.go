package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"

	"github.com/xdg-go/scram"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/savedsettings"
)

// decoyName is the setting that holds the secret of fabricated credentials, and decoyBytes is its
// length.
const (
	decoyName  = "loginDecoy"
	decoyBytes = 32
)

// KeepDecoy reads the secret of fabricated credentials from the store, or stores this process's secret
// if there is none. So a user name that does not exist gets the same salt after a restart and at each
// server over the store, as the name of a user does. It is called before the first login.
// Errors: those of the store.
func (d *Directory) KeepDecoy(ctx context.Context) error {
	secret := d.decoy[:]
	err := savedsettings.Change(ctx, d.store, decoyName, func(was bson.Raw) (bson.Raw, error) {
		if _, b, ok := was.Get("secret").Binary(); ok && len(b) == decoyBytes {
			secret = b
			return nil, nil
		}
		b := bson.NewBuilder(nil)
		b.Binary("secret", 0, d.decoy[:])
		return b.Doc(), nil
	})
	if err == nil {
		copy(d.decoy[:], secret)
	}
	return err
}

// factors returns the salt of a name, always the same, with the iterations.
func (d *Directory) factors(m Mechanism, n Name, iterations int) (f scram.KeyFactors, sum []byte) {
	mac := hmac.New(sha256.New, d.decoy[:])
	mac.Write(append([]byte(m+"\x00"), n.key()...))
	sum = mac.Sum(nil)
	return scram.KeyFactors{Salt: string(sum[:m.saltBytes()]), Iters: iterations}, sum
}

// fabricate returns a credential that matches no password, always the same for a name.
func (d *Directory) fabricate(m Mechanism, n Name, iterations int) scram.StoredCredentials {
	f, sum := d.factors(m, n, iterations)
	key := sha256.Sum256(sum)
	size := sha256.Size
	if m == ScramSHA1 {
		size = 20
	}
	return scram.StoredCredentials{KeyFactors: f, StoredKey: key[:size], ServerKey: key[:size]}
}

// CredentialOf makes the credential of a user that is not in the directory. Its salt is that of a
// fabricated credential, so that it is the same after each start.
// Errors: BadValue (2).
func (d *Directory) CredentialOf(m Mechanism, n Name, password string, iterations int) (Credential, error) {
	prepared, err := prepare(m, n.Name, password)
	if err != nil {
		return Credential{}, err
	}
	f, _ := d.factors(m, n, iterations)
	return credential(m, n.Name, prepared, f)
}
