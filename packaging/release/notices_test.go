package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blakesmith/ar"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/licensecheck"
	"github.com/sassoftware/go-rpmutils"
)

// fileOfTar returns the content of the file in a tar archive whose name ends with end, nil if there is none.
func fileOfTar(t *testing.T, in io.Reader, end string) []byte {
	t.Helper()
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(h.Name, end) {
			data, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			return data
		}
	}
}

// fileOfTarGz is fileOfTar for a compressed one.
func fileOfTarGz(t *testing.T, in io.Reader, end string) []byte {
	t.Helper()
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	return fileOfTar(t, z, end)
}

// opened opens a file that was released.
func opened(t *testing.T, r *release, pattern string) *os.File {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(r.out, pattern))
	if err != nil || len(found) != 1 {
		t.Fatal(pattern, found, err)
	}
	f, err := os.Open(found[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// packed lists the kinds of released files that contain the binary. The function of each extracts the file with a
// given name.
var packed = map[string]func(t *testing.T, r *release, name string) []byte{
	"archive": func(t *testing.T, r *release, name string) []byte {
		return fileOfTarGz(t, opened(t, r, r.archiveName(here)), "/"+name)
	},
	"deb": func(t *testing.T, r *release, name string) []byte {
		for a := ar.NewReader(opened(t, r, "*.deb")); ; {
			h, err := a.Next()
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(h.Name, "data.tar") {
				return fileOfTarGz(t, a, "/"+name)
			}
		}
	},
	"rpm": func(t *testing.T, r *release, name string) []byte {
		read, err := rpmutils.ReadRpm(opened(t, r, "*.rpm"))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := read.ExpandPayload(dir); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, "usr/share/doc/cantle", name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	},
	"image": func(t *testing.T, r *release, name string) []byte {
		img, err := tarball.ImageFromPath(filepath.Join(r.out, r.imageName(here)), parseTag(t, r.tags()[0]))
		if err != nil {
			t.Fatal(err)
		}
		files := mutate.Extract(img)
		defer files.Close()
		return fileOfTar(t, files, "/"+name)
	},
	"wheel": func(t *testing.T, r *release, name string) []byte {
		z, err := zip.OpenReader(filepath.Join(r.out, r.wheelName(here)))
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		for _, f := range z.File {
			if strings.HasSuffix(f.Name, ".dist-info/licenses/"+name) {
				in, err := f.Open()
				if err != nil {
					t.Fatal(err)
				}
				data, err := io.ReadAll(in)
				if err != nil {
					t.Fatal(err)
				}
				return data
			}
		}
		return nil
	},
	"npm": func(t *testing.T, r *release, name string) []byte {
		system, processor := npmPlatform(here)
		return fileOfTarGz(t, opened(t, r, r.npmName(npmScope+"/"+system+"-"+processor)), "package/"+name)
	},
}

// Each released file that contains the binary also contains the licences of all modules that are linked into the
// binary, each by its name and with its text.
func TestNotices(t *testing.T) {
	r := ready(t)
	info, err := buildinfo.ReadFile(r.binary(here))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"std " + strings.TrimPrefix(info.GoVersion, "go")}
	for _, m := range libraries(info) {
		if m.Replace != nil {
			t.Errorf("%s is replaced: the binary is not what the modules say", m.Path)
		}
		names = append(names, m.Path+" "+m.Version)
	}
	if len(names) < 50 {
		t.Errorf("the binary has %d modules", len(names))
	}
	for kind, read := range packed {
		t.Run(kind, func(t *testing.T) {
			text := read(t, r, noticesName)
			list, texts, _ := bytes.Cut(text, []byte("\n"+strings.Repeat("=", 80)+"\n"))
			for _, name := range names {
				_, licence, listed := strings.Cut(string(list), "\n"+name+": ")
				if licence, _, _ = strings.Cut(licence, "\n"); !listed || licence == "" {
					t.Errorf("no line for %s", name)
				}
				if !bytes.Contains(texts, []byte("\n"+name+": ")) && !bytes.HasPrefix(texts, []byte(name+": ")) {
					t.Errorf("no text for %s", name)
				}
			}
			ours := "LICENSE"
			if kind == "deb" || kind == "rpm" || kind == "image" {
				ours = "copyright"
			}
			if found := licensecheck.Scan(read(t, r, ours)); len(found.Match) != 1 || found.Match[0].ID != "Apache-2.0" {
				t.Errorf("our own licence there is %+v", found)
			}
		})
	}
}

// The modules of all platforms have known licences, even those that are linked only on other systems than this one.
func TestNoticesOfPlatforms(t *testing.T) {
	r, err := newRelease("../..", testVersion, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	all, err := r.linkedModules()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := noticesOf(all); err != nil || len(all) < 50 {
		t.Errorf("%d modules: %v", len(all), err)
	}
}

// A module without a licence, or with an unknown text, stops the release. A text that two modules share is printed
// once, and a package inside a module may have a licence of its own.
func TestNoticesOf(t *testing.T) {
	apache, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	module := func(path string, files map[string]string) *linkedModule {
		m := &linkedModule{path, "v1.0.0", t.TempDir(), map[string]bool{}}
		for name, text := range files {
			file := filepath.Join(m.dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			m.packages[filepath.Dir(file)] = true
		}
		return m
	}
	unlicense := "This is free and unencumbered software released into the public domain."
	one := module("one.example/a", map[string]string{"LICENSE": string(apache), "NOTICE": "Made by one."})
	two := module("two.example/b", map[string]string{"LICENCE.txt": string(apache), "in/side/COPYING": string(apache) + "\nCopyright two", "license.go": "package two"})
	text, err := noticesOf([]*linkedModule{one, two})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\none.example/a v1.0.0: Apache-2.0\n", "\ntwo.example/b v1.0.0: Apache-2.0\n",
		"\none.example/a v1.0.0: LICENSE\ntwo.example/b v1.0.0: LICENCE.txt\n", "\none.example/a v1.0.0: NOTICE\n\nMade by one.\n", "\ntwo.example/b v1.0.0: in/side/COPYING\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("without %q", want)
		}
	}
	if n := bytes.Count(text, []byte("TERMS AND CONDITIONS FOR USE")); n != 2 || bytes.Contains(text, []byte("package two")) {
		t.Errorf("the text is there %d times", n)
	}
	for _, bad := range []map[string]string{nil, {"README": string(apache)}, {"LICENSE": "All rights reserved. " + unlicense}, {"NOTICE": string(apache)}} {
		m := module("bad.example/c", bad)
		if _, err := noticesOf([]*linkedModule{one, m}); err == nil || !strings.Contains(err.Error(), "bad.example/c v1.0.0 has no licence") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
