package harness

import (
	"errors"
	"net/url"
	"os/exec"
	"path/filepath"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// The user of the secure variant. Name and password need escapes in a connection string.
const (
	userName     = "the@owner"
	userPassword = "a/secret:word?"
)

// unauthorized is the code of an error for lack of a login or of a privilege.
const unauthorized = 13

// StartSecure starts a server that accepts only TLS and only authenticated clients, set up as `cantle cert`
// and the manual recommend: with a new authority, and the first user made over localhost while there is none.
// It returns the user's connection string and the authority's certificate.
func StartSecure(t *testing.T, flags ...string) (uri, authority string) {
	t.Helper()
	dir, _ := Certificates(t)
	authority = filepath.Join(dir, "ca.pem")
	s := Start(t, Options{Args: append(flags, "--auth", "--tls-mode", "requireTLS",
		"--tls-certificate-key-file", filepath.Join(dir, "server.pem"))})
	u, err := url.Parse(s.URI)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("tls", "true")
	query.Set("tlsCAFile", authority)
	u.RawQuery = query.Encode()
	makeUser(t, u.String())
	query.Set("authSource", "admin")
	u.RawQuery = query.Encode()
	u.User = url.UserPassword(userName, userPassword)
	return u.String(), authority
}

// Certificates runs `cantle cert` with flags and returns the folder and the output.
func Certificates(t *testing.T, flags ...string) (dir string, printed []byte) {
	t.Helper()
	binary, err := Binary()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	printed, err = exec.Command(binary, append([]string{"cert", "--dir", dir}, flags...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("cantle cert: %v\n%s", err, printed)
	}
	return dir, printed
}

// makeUser makes the first user, with all privileges. Then it checks that a client without login may not list the
// databases.
func makeUser(t *testing.T, uri string) {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := client.Disconnect(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	admin := client.Database("admin")
	roles := bson.A{"root"}
	err = admin.RunCommand(t.Context(), bson.D{{Key: "createUser", Value: userName}, {Key: "pwd", Value: userPassword}, {Key: "roles", Value: roles}}).Err()
	if err != nil {
		t.Fatal(err)
	}
	err = admin.RunCommand(t.Context(), bson.D{{Key: "listDatabases", Value: 1}}).Err()
	if refused := (mongo.CommandError{}); !errors.As(err, &refused) || refused.Code != unauthorized {
		t.Errorf("a stranger lists the databases: %v", err)
	}
}
