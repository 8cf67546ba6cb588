package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path"
	"strings"
	"testing"
)

// scriptMax bounds all scripts of the page together, in bytes after compression by gzip.
const scriptMax = 88 << 10

// Each vendored file is listed in NOTICE.txt with its checksum, the page's own files name no other host, and all
// scripts together stay small.
func TestAssets(t *testing.T) {
	notice, err := assets.ReadFile("assets/vendor/NOTICE.txt")
	if err != nil {
		t.Fatal(err)
	}
	script := 0
	err = fs.WalkDir(assets, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := assets.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(text)
		if path.Dir(name) == "assets/vendor" && path.Base(name) != "NOTICE.txt" &&
			!strings.Contains(string(notice), hex.EncodeToString(sum[:])+"  "+path.Base(name)) {
			t.Errorf("%s is not what NOTICE.txt says", name)
		}
		if path.Ext(name) == ".js" {
			var z bytes.Buffer
			w := gzip.NewWriter(&z)
			if _, err := w.Write(text); err != nil {
				return err
			}
			if err := w.Close(); err != nil {
				return err
			}
			script += z.Len()
		}
		if strings.Contains(string(text), "://") && path.Dir(name) != "assets/vendor" && path.Ext(name) != ".svg" {
			t.Errorf("%s names another host", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes of script", script)
	if script > scriptMax {
		t.Errorf("%d bytes of script, at most %d", script, scriptMax)
	}
}
