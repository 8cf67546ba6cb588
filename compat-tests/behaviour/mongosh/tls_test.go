package mongosh

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestTLS follows the instructions that `cantle cert` prints: mongosh connects with TLS, and creates the first user
// and a user that logs in by certificate.
func TestTLS(t *testing.T) {
	shell := harness.Mongosh(t)
	dir, printed := harness.Certificates(t, "--hosts", "127.0.0.1")
	home := t.TempDir()
	harness.MongoshHome(t, home)
	user := regexp.MustCompile(`db\.getSiblingDB.*createUser.*`).FindString(string(printed))
	file := func(name string) string { return filepath.Join(dir, name) }
	s := harness.Start(t, harness.Options{Args: []string{"--auth", "--tls-mode", "requireTLS",
		"--tls-certificate-key-file", file("server.pem"), "--tls-ca-file", file("ca.pem"), "--tls-allow-connections-without-certificates"}})
	run := func(script, options string, flags ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), shellSecondsMax*time.Second)
		defer cancel()
		args := append([]string{"mongodb://" + s.Addr + "/test?tls=true" + options, "--quiet", "--norc", "--tlsCAFile", file("ca.pem"), "--eval", script}, flags...)
		cmd := exec.CommandContext(ctx, shell, args...)
		cmd.Env = append(os.Environ(), "HOME="+home, "NO_COLOR=1")
		cmd.WaitDelay = 5 * time.Second
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("mongosh: %v\n%s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	const first = `db.getSiblingDB("admin").createUser({user: "root", pwd: "secret", roles: ["root"]}); db.getSiblingDB("admin").auth("root", "secret"); `
	if got := run(first+user+"; print(db.c.insertOne({_id: 1}).acknowledged)", ""); !strings.HasSuffix(got, "true") {
		t.Errorf("the first user: %s", got)
	}
	got := run(`print(db.runCommand({connectionStatus: 1}).authInfo.authenticatedUsers[0].user); print(db.c.countDocuments());
		try { db.getSiblingDB("other").c.findOne() } catch (e) { print(e.code) }`,
		"&authMechanism=MONGODB-X509&authSource=%24external", "--tlsCertificateKeyFile", file("client.pem"))
	if want := "CN=cantle-client,OU=clients\n1\n13"; got != want {
		t.Errorf("by certificate: %q, want %q", got, want)
	}
}
