package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Size limits of released files, in bytes: users wait for downloads, and old machines have small disks. The release
// notes list the largest parts of a binary.
const (
	binaryMax = 72_000_000 // of any platform
	packedMax = 26_000_000 // with a binary in it: images, archives, packages
	otherMax  = 64 << 10   // any other file
)

// outgrown returns an error that lists each released file that exceeds its size limit.
func (r *release) outgrown() error {
	var all []error
	look := func(file string, most int64) {
		info, err := os.Stat(file)
		if err == nil && info.Size() > most {
			err = fmt.Errorf("%s has %d bytes, more than %d; %s tells what is heavy", filepath.Base(file), info.Size(), most, notesName)
		}
		all = append(all, err)
	}
	for _, p := range r.platforms {
		look(r.binary(p), binaryMax)
	}
	names, err := r.released()
	if err != nil {
		return err
	}
	for _, name := range names {
		look(filepath.Join(r.out, name), r.mostOf(name))
	}
	return errors.Join(all...)
}

// mostOf returns the maximum size of a published file.
func (r *release) mostOf(name string) int64 {
	if strings.HasSuffix(name, "-oci.tar") {
		return packedMax * int64(len(r.linux())) // one image for each
	}
	for _, end := range []string{"-image.tar", ".tar.gz", ".zip", ".deb", ".rpm", ".whl"} {
		if strings.HasSuffix(name, end) {
			return packedMax
		}
	}
	if strings.HasPrefix(name, strings.TrimPrefix(npmScope, "@")+"-") {
		return packedMax
	}
	return otherMax
}
