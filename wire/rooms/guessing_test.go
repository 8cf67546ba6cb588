package rooms

import (
	"context"
	"encoding/base64"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/auth"
)

// logIn logs in by SCRAM as a user of the database test. It returns the error code of the reply to the proof, 0 if the
// login succeeded, or -1 if the client, which disconnects after the duration patient, did so before the reply.
func (c *client) logIn(m auth.Mechanism, user, password string, patient time.Duration) (code int64) {
	c.w.t.Helper()
	proof, err := auth.NewProof(m, user, password)
	if err != nil {
		c.w.t.Fatal(err)
	}
	message, _ := proof.Step("")
	ctx, cancel := context.WithTimeout(c.w.t.Context(), patient)
	defer cancel()
	encoded := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	r, _, err := c.send(ctx, 0, `{saslStart: 1, mechanism: "`+string(m)+`", payload: "`+encoded(message)+`", options: {skipEmptyExchange: true}}`)
	if err != nil {
		c.w.t.Fatal(err)
	}
	_, challenge, _ := r.Get("payload").Binary()
	if message, err = proof.Step(string(challenge)); err != nil {
		c.w.t.Fatal(err)
	}
	return c.hangingUp(ctx, `{saslContinue: 1, conversationId: 1, payload: "`+encoded(message)+`"}`)
}

// hangingUp runs a command on a connection that ends with ctx, and returns its error code, or -1 if the connection
// ended first.
func (c *client) hangingUp(ctx context.Context, text string) (code int64) {
	r, _, err := c.send(ctx, 0, text)
	if err != nil || ctx.Err() != nil {
		return -1
	}
	n, _ := bson.Raw(r).Get("code").TruncInt64()
	return n
}

// TestGuessingIsSlow checks that a proof that follows failed ones is not checked before its time, so that a client
// learns no more by disconnecting or by using many connections. The right password is still accepted.
func TestGuessingIsSlow(t *testing.T) {
	for _, m := range []auth.Mechanism{auth.ScramSHA1, auth.ScramSHA256} {
		synctest.Test(t, func(t *testing.T) {
			w, _, _ := secured(t)
			looked, wasRight := 0, 0
			began := time.Now()
			for i := range 200 {
				password := "wrong"
				if i == 100 {
					password = "p" // the guesser does not learn that, because it disconnects
				}
				switch w.dial().logIn(m, "reader", password, 20*time.Millisecond) {
				case 18:
					looked++
				case 0:
					wasRight++
				}
			}
			if took := time.Since(began); looked > 40 || took > 10*time.Second {
				t.Errorf("%s: %d of 200 guesses were looked at in %v", m, looked, took)
			}
			if wasRight != 0 {
				t.Errorf("%s: a guess that hung up was looked at", m)
			}
			time.Sleep(5 * time.Second)
			c := w.dial()
			if code := c.logIn(m, "reader", "p", time.Minute); code != 0 {
				t.Errorf("%s: the right password: %d", m, code)
			}
			c.ok(`{find: "c"}`)
		})
	}
}

// TestCertificatesAreSlowedToo checks that login attempts by X.509 wait after failures: of 200 attempts without a
// certificate, whose clients disconnect after 20 ms, at most 40 are checked.
func TestCertificatesAreSlowedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, _ := secured(t)
		looked := 0
		for range 200 {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			if w.dial().hangingUp(ctx, `{authenticate: 1, mechanism: "MONGODB-X509", user: "CN=root", $db: "$external"}`) == 18 {
				looked++
			}
			cancel()
		}
		if looked > 40 {
			t.Errorf("%d of 200 attempts were looked at", looked)
		}
	})
}

// TestRefusedAttempt checks that, of many concurrent login attempts, one that would wait too long is refused at once,
// even with the right password.
func TestRefusedAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, _ := secured(t)
		for range 12 {
			w.dial().logIn(auth.ScramSHA256, "reader", "wrong", time.Minute)
		}
		for range 5 {
			go w.dial().logIn(auth.ScramSHA256, "reader", "wrong", time.Minute)
		}
		synctest.Wait()
		began := time.Now()
		if code := w.dial().logIn(auth.ScramSHA256, "reader", "p", time.Minute); code != 18 || time.Since(began) != 0 {
			t.Errorf("one more: %d after %v", code, time.Since(began))
		}
		time.Sleep(30 * time.Second)
		if code := w.dial().logIn(auth.ScramSHA256, "reader", "p", time.Minute); code != 0 {
			t.Errorf("later: %d", code)
		}
	})
}
