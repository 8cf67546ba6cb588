package main

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// container is an unpacked image with a volume.
type container struct {
	root, data string
	image      v1.Image
	config     v1.Config
	readOnly   bool // the machine allows mounting
}

// unpackImage unpacks the image that docker load would get.
func unpackImage(t *testing.T) *container {
	t.Helper()
	r := ready(t)
	img, err := tarball.ImageFromPath(filepath.Join(r.out, r.imageName(here)), parseTag(t, r.tags()[0]))
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c := &container{root: t.TempDir(), data: t.TempDir(), image: img, config: config.Config}
	files := mutate.Extract(img)
	defer files.Close()
	unpack(t, files, c.root)
	return c
}

// confined is a shell script that runs its arguments inside an unpacked image: as the image's user, in the image's
// root folder, which is read-only except for the volume.
const confined = `mount --bind "$1" "$1" && mount --bind "$2" "$1/data" && mount -o remount,bind,ro "$1" && root=$1 && shift 2 &&
exec chroot --userspec=65532:65532 "$root" "$@"`

// command makes a process in the container with the image's environment.
func (c *container) command(args ...string) *exec.Cmd {
	args = append(slices.Clone(c.config.Entrypoint), args...)
	args[0] = "/usr/bin/" + args[0]
	cmd := exec.Command("unshare", append([]string{"--mount", "sh", "-c", confined, "sh", c.root, c.data}, args...)...)
	if !c.readOnly {
		cmd = exec.Command("chroot", append([]string{"--userspec=65532:65532", c.root}, args...)...)
	}
	// A free port, and otherwise the settings of the image.
	cmd.Env = append(slices.Clone(c.config.Env), "CANTLE_LISTEN=127.0.0.1:0")
	cmd.Env[0] += ":/usr/sbin:/bin" // the programs that confine it
	return cmd
}

// asRoot skips a test that requires root.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("changing the root folder is for root only")
	}
}

// As the image's user, in a root folder that is read-only where the machine allows that, the server starts, is
// healthy by the image's own check, and keeps its data in the volume.
func TestImage(t *testing.T) {
	asRoot(t)
	c := unpackImage(t)
	if err := validate.Image(c.image); err != nil {
		t.Fatal(err)
	}
	c.readOnly = exec.Command("unshare", "--mount", "true").Run() == nil
	for _, dir := range []string{c.data, filepath.Join(c.root, "data")} {
		if err := os.Chown(dir, imageUser, imageUser); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(c.root, 0o755); err != nil {
		t.Fatal(err)
	}
	s := start(t, c.command(c.config.Cmd...))
	health := c.config.Healthcheck.Test
	if health[0] != "CMD" || health[1] != c.config.Entrypoint[0] {
		t.Fatalf("the image's health check is %q", health)
	}
	if out, err := c.command(append(slices.Clone(health[2:]), s.uri)...).CombinedOutput(); err != nil || !strings.Contains(string(out), "answers in") {
		t.Errorf("%q in the container: %v\n%s", health, err, out)
	}
	verb(t, "{\"_id\": 1, \"a\": 7}\n{\"_id\": 2, \"a\": 8}\n", "import", s.uri, "test.c")
	s.stop(t)

	s = start(t, c.command(c.config.Cmd...))
	// JavaScript works, too.
	if got := verb(t, "", "export", "--query", `{$where: "this.a.toString() === '8' && [1].map(x => x).length === 1"}`, s.uri, "test.c"); !strings.Contains(got, `"_id":2`) || strings.Count(got, "_id") != 1 {
		t.Errorf("after a restart the collection has %s", got)
	}
	s.stop(t)
	if c.config.User != "65532:65532" || len(c.config.Volumes) != 1 || len(c.config.ExposedPorts) != 2 {
		t.Errorf("the image has the configuration %+v", c.config)
	}
}

// Behind a published port, a client that requires the replica set can work if the name of the set is given with the
// address of the port; a client that connects directly, as with Testcontainers, can work without that.
func TestImageReplicaSet(t *testing.T) {
	asRoot(t)
	c := unpackImage(t)
	if err := os.Chmod(c.root, 0o755); err != nil {
		t.Fatal(err)
	}
	for option, told := range map[string]bool{"replicaSet=rs0": true, "directConnection=true": false} {
		published, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer published.Close()
		set := "rs0"
		if told {
			set += "/" + published.Addr().String()
		}
		s := start(t, c.command("serve", "--memory", "--replica-set", set))
		inside := strings.TrimPrefix(s.uri, "mongodb://")
		inside, _, _ = strings.Cut(inside, "/")
		go forward(published, inside)
		uri := "mongodb://" + published.Addr().String() + "/?" + option
		verb(t, "{\"_id\": 1}\n", "import", uri, "test.c")
		if got := verb(t, "", "ping", uri); !strings.Contains(got, "primary of rs0") {
			t.Error(got)
		}
		s.stop(t)
	}
}

// With the variables of MongoDB's image, or those of the same meaning that begin with CANTLE_, a container has a
// first user, and requires logins.
func TestImageFirstUser(t *testing.T) {
	asRoot(t)
	c := unpackImage(t)
	if err := os.Chmod(c.root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.root, "etc/secret"), []byte("s3cret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, variables := range [][]string{
		{"MONGO_INITDB_ROOT_USERNAME=root", "MONGO_INITDB_ROOT_PASSWORD=s3cret"},
		{"MONGO_INITDB_ROOT_USERNAME=root", "MONGO_INITDB_ROOT_PASSWORD_FILE=/etc/secret"},
		{"CANTLE_INITDB_ROOT_USERNAME=root", "CANTLE_INITDB_ROOT_PASSWORD=s3cret"},
	} {
		cmd := c.command("serve", "--memory")
		cmd.Env = append(cmd.Env, variables...)
		s := start(t, cmd)
		verb(t, "{\"_id\": 1}\n", "import", strings.Replace(s.uri, "mongodb://", "mongodb://root:s3cret@", 1), "test.c")
		if out, err := exec.Command(ready(t).binary(here), "export", s.uri, "test.c").CombinedOutput(); err == nil || !strings.Contains(string(out), "requires authentication") {
			t.Errorf("%q: without a login: %v, %s", variables, err, out)
		}
		s.stop(t)
	}
}

// forward forwards the connections of a listener to another address, as a published port of a container does, until
// the listener is closed.
func forward(l net.Listener, to string) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", to)
		if err != nil {
			client.Close()
			continue
		}
		go func() { io.Copy(server, client); server.Close() }()
		go func() { io.Copy(client, server); client.Close() }()
	}
}

// The archive in the OCI layout is valid, and holds under each tag of the release one image, that of this platform.
func TestLayout(t *testing.T) {
	r := ready(t)
	f, err := os.Open(filepath.Join(r.out, "cantle-"+testVersion+"-oci.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dir := t.TempDir()
	unpack(t, f, dir)
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	tags, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range tags.Manifests {
		names = append(names, m.Annotations["org.opencontainers.image.ref.name"])
		inner, err := index.ImageIndex(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		of, err := inner.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		if len(of.Manifests) != 1 || of.Manifests[0].Platform.Architecture != here.arch {
			t.Errorf("%s holds %+v", names, of.Manifests)
		}
	}
	if !slices.Equal(names, r.tags()) {
		t.Errorf("the layout has %q, want %q", names, r.tags())
	}
}

// parseTag parses a tag of our repository.
func parseTag(t *testing.T, text string) *name.Tag {
	t.Helper()
	tag, err := name.NewTag(repository + ":" + text)
	if err != nil {
		t.Fatal(err)
	}
	return &tag
}
