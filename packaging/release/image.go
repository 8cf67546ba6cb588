package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// repository is the registry path of the images.
const repository = "ghcr.io/cantledb/cantle"

// imageUser is the user id of the server in a container. It is above the numbers that hosts usually give to users.
const imageUser = 65532

// tags returns the tags of the images: the version and, unless it is a pre-release, its first two numbers. There
// is no "latest", because it would change without notice.
func (r *release) tags() []string {
	out := []string{r.version}
	if !strings.Contains(r.version, "-") {
		out = append(out, r.version[:strings.LastIndexByte(r.version, '.')])
	}
	return out
}

// images makes a container image for each platform of Linux: an archive for docker load each, and one archive in the
// OCI layout with all of them.
func (r *release) images() error {
	if len(r.linux()) == 0 {
		return nil
	}
	var index v1.ImageIndex = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range r.linux() {
		img, err := r.image(p)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.arch}}})
		named := map[name.Tag]v1.Image{}
		for _, t := range r.tags() {
			tag, err := name.NewTag(repository + ":" + t)
			if err != nil {
				return err
			}
			named[tag] = img
		}
		if err := tarball.MultiWriteToFile(filepath.Join(r.out, r.imageName(p)), named); err != nil {
			return err
		}
	}
	return r.ociArchive(index)
}

// imageName is the file name of the image of a platform.
func (r *release) imageName(p platform) string { return r.folder(p) + "-image.tar" }

// ociArchive writes an index of images as a tar archive in the OCI layout; the index has the tags of the version.
func (r *release) ociArchive(index v1.ImageIndex) error {
	dir, err := os.MkdirTemp("", "cantle-oci-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	to, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	for _, t := range r.tags() {
		note := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": t})
		if err := to.AppendIndex(index, note); err != nil {
			return err
		}
	}
	var entries []entry
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		inside, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		entries = append(entries, entry{name: filepath.ToSlash(inside), data: data, mode: 0o644})
		return err
	})
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := writeTar(&out, entries, r.date); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "cantle-"+r.version+"-oci.tar"), out.Bytes(), 0o644)
}

// image makes the container image of a platform. It has one layer: the program, its licences, a folder for the data,
// one for /tmp, and names for the user.
func (r *release) image(p platform) (v1.Image, error) {
	program, err := os.ReadFile(r.binary(p))
	if err != nil {
		return nil, err
	}
	licence, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	notices, err := os.ReadFile(r.noticesFile())
	if err != nil {
		return nil, err
	}
	var tar bytes.Buffer
	err = writeTar(&tar, []entry{
		{name: "data/", mode: 0o700, user: imageUser},
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, data: []byte("root:x:0:\ncantle:x:65532:\n")},
		{name: "etc/passwd", mode: 0o644, data: []byte("root:x:0:0:root:/:/none\ncantle:x:65532:65532:cantle:/data:/none\n")},
		{name: "tmp/", mode: 0o1777},
		{name: "usr/", mode: 0o755},
		{name: "usr/bin/", mode: 0o755},
		{name: "usr/bin/cantle", mode: 0o755, data: program},
		{name: "usr/share/", mode: 0o755},
		{name: "usr/share/doc/", mode: 0o755},
		{name: "usr/share/doc/cantle/", mode: 0o755},
		{name: "usr/share/doc/cantle/" + noticesName, mode: 0o644, data: notices},
		{name: "usr/share/doc/cantle/copyright", mode: 0o644, data: licence},
	}, r.date)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(tar.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(9), tarball.WithCompressedCaching) // compressed once, not for each file
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	made := v1.Time{Time: r.date}
	img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{Created: made, CreatedBy: "cantle's scripts/release"}})
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = p.os, p.arch, made
	file.Config = r.imageConfig()
	return mutate.ConfigFile(img, file)
}

// imageConfig returns the configuration of a container. The defaults are environment variables, so that they also
// hold if a user sets a command such as "serve --replica-set rs0". As with other databases' images, a container
// requires no login by default (--auth): the published ports determine which clients can reach it. The variables for
// a first user are those of MongoDB's image; they turn logins on. Scripts of the first start are in the folder of that
// image.
func (r *release) imageConfig() v1.Config {
	return v1.Config{
		User:         "65532:65532",
		Env:          []string{"PATH=/usr/bin", "CANTLE_DATA=/data", "CANTLE_LISTEN=0.0.0.0:27017", "CANTLE_ALLOW_OPEN=true", "CANTLE_MONGO_VARIABLES=true", "CANTLE_INITDB_FOLDER=/docker-entrypoint-initdb.d"},
		Entrypoint:   []string{"cantle"},
		Cmd:          []string{"serve"},
		WorkingDir:   "/data",
		Volumes:      map[string]struct{}{"/data": {}},
		ExposedPorts: map[string]struct{}{"27017/tcp": {}, "10255/tcp": {}},
		StopSignal:   "SIGTERM",
		Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "cantle", "ping", "--timeout", "4s"},
			Interval: 10 * time.Second, Timeout: 5 * time.Second, StartPeriod: 30 * time.Second, Retries: 3},
		Labels: map[string]string{
			"org.opencontainers.image.title":         "Cantle",
			"org.opencontainers.image.description":   description,
			"org.opencontainers.image.version":       r.version,
			"org.opencontainers.image.revision":      r.commit,
			"org.opencontainers.image.created":       r.date.Format(time.RFC3339),
			"org.opencontainers.image.licenses":      "Apache-2.0",
			"org.opencontainers.image.source":        home,
			"org.opencontainers.image.documentation": home,
		},
	}
}
