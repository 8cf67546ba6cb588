package console

import (
	"net/http"
	"runtime/debug"
)

// logPanics logs a panic of a handler, and ends its connection.
func (c *Console) logPanics(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p != http.ErrAbortHandler {
				c.Server.Defects.Panic("the console "+r.Pattern, p, debug.Stack())
			}
			panic(http.ErrAbortHandler)
		}()
		h.ServeHTTP(w, r)
	})
}
