package s3server

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
)

// Proxy stands between a client and a server, and lets requests fail.
type Proxy struct {
	URL string // of the endpoint
	// Share is the number of requests of a hundred that fail.
	Share atomic.Int64
	// Full lets each upload fail, as with a quota that is used up.
	Full atomic.Bool
	// Down drops each connection.
	Down atomic.Bool
	// Failed is the number of requests that failed.
	Failed atomic.Int64
	// Sent is the number of bytes of bodies that clients have sent.
	Sent atomic.Int64
}

// Interpose starts a proxy before the server, without failures at first. It ends with the test.
func (s *Server) Interpose(t *testing.T) *Proxy {
	t.Helper()
	to, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host // which the signature contains
	}}
	p := &Proxy{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, forward) }))
	t.Cleanup(server.Close)
	p.URL = server.URL
	return p
}

// serve forwards a request or lets it fail.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	p.Sent.Add(max(r.ContentLength, 0))
	switch upload := r.Method == http.MethodPut || r.Method == http.MethodPost; {
	case p.Down.Load():
		p.Failed.Add(1)
		panic(http.ErrAbortHandler)
	case p.Full.Load() && upload:
		p.Failed.Add(1)
		refuse(w, http.StatusForbidden, "QuotaExceeded")
	case rand.Int64N(100) < p.Share.Load():
		p.Failed.Add(1)
		p.fail(w, r, forward)
	default:
		forward.ServeHTTP(w, r)
	}
}

// fail lets a request fail in one of the ways of object stores and of networks.
func (p *Proxy) fail(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	switch rand.IntN(5) {
	case 0:
		refuse(w, http.StatusInternalServerError, "InternalError")
	case 1:
		refuse(w, http.StatusServiceUnavailable, "SlowDown")
	case 2: // before the server receives it
		panic(http.ErrAbortHandler)
	case 3: // half of the body
		_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength/2)
		panic(http.ErrAbortHandler)
	case 4: // after the server did it: the response is lost, or half of it
		reply := httptest.NewRecorder()
		forward.ServeHTTP(reply, r)
		body := reply.Body.Bytes()
		if len(body) > 1 && reply.Code == http.StatusOK && r.Method == http.MethodGet {
			for name, values := range reply.Header() {
				w.Header()[name] = values
			}
			w.WriteHeader(reply.Code)
			_, _ = io.Copy(w, bytes.NewReader(body[:len(body)/2]))
			_ = http.NewResponseController(w).Flush()
		}
		panic(http.ErrAbortHandler)
	}
}

// refuse answers with an error of the protocol.
func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<Error><Code>"+code+"</Code><Message>a failure of the test</Message></Error>")
}
