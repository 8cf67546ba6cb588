package console

import (
	"net/http"
	"sync"

	"github.com/cantledb/cantle/collection/mongoerr"
)

// documentation serves the pages of the documentation of this version, without a login: they are public. They are
// rendered at the first request, so that a start does not wait for them.
func (c *Console) documentation() http.Handler {
	files := sync.OnceValues(func() (map[string]*file, error) {
		texts, err := c.Docs()
		ready := make(map[string]*file, len(texts))
		for name, text := range texts {
			ready[name] = prepare(name, text)
		}
		return ready, err
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all, err := files()
		if err != nil {
			fail(w, http.StatusInternalServerError, mongoerr.From(err))
			return
		}
		name := r.URL.Path
		if name == "" {
			name = "index.html"
		}
		f := all[name]
		if f == nil {
			http.NotFound(w, r)
			return
		}
		f.send(w, r)
	})
}
