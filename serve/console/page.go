package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

// assets are the files of the page.
//
//go:embed assets
var assets embed.FS

// file is one file of the page, prepared for sending.
type file struct {
	kind, tag  string // its content type, and its ETag
	plain, zip []byte // zip is nil if the content is compressed already
}

// page serves the files of the console's page, which are compressed once at the start. A path without a file and
// without an extension gets the page itself, because each view of the page has its own address.
func page() http.Handler {
	files := map[string]*file{}
	_ = fs.WalkDir(assets, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := assets.ReadFile(name)
		if err == nil {
			files[strings.TrimPrefix(name, "assets/")] = prepare(name, text)
		}
		return err
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		name := strings.TrimPrefix(r.URL.Path, "/")
		f := files[name]
		if f == nil && path.Ext(name) == "" {
			f = files["index.html"]
		}
		if f == nil {
			http.NotFound(w, r)
			return
		}
		f.send(w, r)
	})
}

// prepare returns a file for sending. Its content type follows from the extension of its name.
func prepare(name string, text []byte) *file {
	sum := sha256.Sum256(text)
	f := &file{kind: mime.TypeByExtension(path.Ext(name)), tag: `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`, plain: text}
	switch path.Ext(name) { // independent of the machine's own table
	case ".js":
		f.kind = "text/javascript; charset=utf-8"
	case ".css":
		f.kind = "text/css; charset=utf-8"
	case ".html":
		f.kind = "text/html; charset=utf-8"
	case ".svg":
		f.kind = "image/svg+xml"
	case ".png":
		f.kind = "image/png"
		return f
	case ".yaml":
		f.kind = "text/plain; charset=utf-8"
	}
	var z bytes.Buffer
	w, _ := gzip.NewWriterLevel(&z, gzip.BestCompression)
	_, _ = w.Write(text)
	_ = w.Close()
	f.zip = z.Bytes()
	return f
}

// send sends a file to a browser, or the status Not Modified (304) if the browser has this version.
func (f *file) send(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "no-cache") // the browser revalidates each time
	h.Set("ETag", f.tag)
	h.Set("Vary", "Accept-Encoding")
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.plain
	if f.zip != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = f.zip
	}
	_, _ = w.Write(body)
}
