package harness

import (
	"io"
	"net/url"
)

// Hosted returns the Server of a server that runs inside this process. start starts that server with out as its log,
// and returns its connection string and a function that stops it.
func Hosted(start func(out io.Writer) (uri string, stop func() error, err error)) (*Server, error) {
	s := &Server{}
	uri, stop, err := start(&s.log)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(uri)
	if err != nil {
		return nil, err
	}
	s.URI, s.Addr, s.stop = uri, u.Host, stop
	return s, nil
}
