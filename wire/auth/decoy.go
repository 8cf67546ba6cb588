package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"

	"github.com/xdg-go/scram"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/savedsettings"
)

// decoyName is the name under which the store holds the secret for fabricated credentials; decoyBytes is the length
// of the secret.
const (
	decoyName  = "loginDecoy"
	decoyBytes = 32
)

// KeepDecoy reads the secret for fabricated credentials from the store, or stores the secret of this process if
// there is none. With it, a user name that does not exist gets the same salt after a restart and at each server over
// the store, as the name of an existing user does; so clients cannot find out which names exist. To be called before
// the first login. Errors: errors of the store.
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

// factors returns a salt, which is computed from the name n and the secret and so always the same for a name,
// together with the number of iterations. sum is the hash from which the salt is cut.
func (d *Directory) factors(m Mechanism, n Name, iterations int) (f scram.KeyFactors, sum []byte) {
	mac := hmac.New(sha256.New, d.decoy[:])
	mac.Write(append([]byte(m+"\x00"), n.key()...))
	sum = mac.Sum(nil)
	return scram.KeyFactors{Salt: string(sum[:m.saltBytes()]), Iters: iterations}, sum
}

// fabricate returns a SCRAM credential for a name without a user. It matches no password, and is the same for a name
// every time.
func (d *Directory) fabricate(m Mechanism, n Name, iterations int) scram.StoredCredentials {
	f, sum := d.factors(m, n, iterations)
	key := sha256.Sum256(sum)
	size := sha256.Size
	if m == ScramSHA1 {
		size = 20
	}
	return scram.StoredCredentials{KeyFactors: f, StoredKey: key[:size], ServerKey: key[:size]}
}

// CredentialOf makes the credential of a user that is not stored in the directory. Its salt is the one that a
// fabricated credential of the name has, so that it is the same after each start. Errors: BadValue (2).
func (d *Directory) CredentialOf(m Mechanism, n Name, password string, iterations int) (Credential, error) {
	prepared, err := prepare(m, n.Name, password)
	if err != nil {
		return Credential{}, err
	}
	f, _ := d.factors(m, n, iterations)
	return credential(m, n.Name, prepared, f)
}
