package console

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"sync"
	"time"
)

// A login ends sessionIdle after its last use, and at the latest sessionLife after it began. sessionsMax is the maximum
// number of logins.
const (
	sessionIdle = time.Hour
	sessionLife = 12 * time.Hour
	sessionsMax = 1000
)

// cookieName is the name of the cookie that identifies a login.
const cookieName = "cantle_console"

// session is one login of a browser.
type session struct {
	conn        *localConn // logged in; runs no further command
	begun, used time.Time
}

// sessions holds the browsers' logins by the hash of their token. Tokens are not kept, so a copy of this map contains
// nothing to log in with.
type sessions struct {
	mu     sync.Mutex
	list   map[[32]byte]*session
	closed chan struct{} // closed by end
}

// over reports whether the login has expired.
func (s *session) over(now time.Time) bool {
	return now.Sub(s.used) > sessionIdle || now.Sub(s.begun) > sessionLife
}

// add registers the login of the connection c, and returns the token for its cookie. If there are sessionsMax logins
// already, the least recently used one ends.
func (s *sessions) add(c *localConn, now time.Time) string {
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	token := base64.RawURLEncoding.EncodeToString(secret)
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest := [32]byte{}
	for id, x := range s.list {
		if x.over(now) {
			s.drop(id)
		} else if o := s.list[oldest]; o == nil || cmp.Compare(x.used.UnixNano(), o.used.UnixNano()) < 0 {
			oldest = id
		}
	}
	if len(s.list) >= sessionsMax {
		s.drop(oldest)
	}
	s.list[sha256.Sum256([]byte(token))] = &session{conn: c, begun: now, used: now}
	return token
}

// drop ends a login, if there is one with the id. The caller holds s.mu.
func (s *sessions) drop(id [32]byte) {
	if x := s.list[id]; x != nil {
		x.conn.hangUp()
		delete(s.list, id)
	}
}

// find returns the logged-in connection to which the cookie of an HTTP request belongs, and renews the login's
// sessionIdle; nil if the request has no valid login.
func (s *sessions) find(r *http.Request, now time.Time) *localConn {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return nil
	}
	id := sha256.Sum256([]byte(cookie.Value))
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.list[id]
	if x == nil {
		return nil
	}
	if x.over(now) {
		s.drop(id)
		return nil
	}
	x.used = now
	return x.conn
}

// forget ends the login of a request.
func (s *sessions) forget(r *http.Request) {
	if cookie, err := r.Cookie(cookieName); err == nil {
		s.mu.Lock()
		s.drop(sha256.Sum256([]byte(cookie.Value)))
		s.mu.Unlock()
	}
}

// ended returns a channel that is closed when the console stops.
func (s *sessions) ended() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed == nil {
		s.closed = make(chan struct{})
	}
	return s.closed
}

// end ends all logins and live streams.
func (s *sessions) end() {
	ended := s.ended()
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-ended:
	default:
		close(s.closed)
	}
	for id := range s.list {
		s.drop(id)
	}
}

// cookie returns the cookie that identifies a browser's login by its token. For the token "" it returns a cookie that
// makes the browser delete that cookie.
func (c *Console) cookie(token string) *http.Cookie {
	k := &http.Cookie{Name: cookieName, Value: token, Path: "/", HttpOnly: true, Secure: c.secure, SameSite: http.SameSiteStrictMode, MaxAge: int(sessionLife / time.Second)}
	if token == "" {
		k.MaxAge = -1
	}
	return k
}
