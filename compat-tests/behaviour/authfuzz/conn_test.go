package authfuzz

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	cbson "github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
)

const opMsg = 2013

// replyWithin is the timeout for a reply of the server. It is long, because some commands wait until another
// transaction of the same user ends.
const replyWithin = 5 * time.Second

// conn is a connection, with or without a login.
type conn struct{ net.Conn }

func dial(addr string) (*conn, error) {
	c, err := net.DialTimeout("tcp", addr, replyWithin)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

// exchange sends a request and returns the reply's document.
func (c *conn) exchange(r *request, within time.Duration) (cbson.Raw, error) {
	if err := c.send(r.frame()); err != nil {
		return nil, err
	}
	return c.receive(within)
}

// send writes frames.
func (c *conn) send(frames []byte) error {
	_ = c.SetWriteDeadline(time.Now().Add(replyWithin))
	_, err := c.Write(frames)
	return err
}

// receive returns the next reply's document.
func (c *conn) receive(within time.Duration) (cbson.Raw, error) {
	_ = c.SetReadDeadline(time.Now().Add(within))
	var head [16]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(head[:])
	if size < 26 || size > 64<<20 || binary.LittleEndian.Uint32(head[12:]) != opMsg {
		return nil, fmt.Errorf("a reply of %d bytes with op code %d", size, binary.LittleEndian.Uint32(head[12:]))
	}
	b := make([]byte, size-16)
	if _, err := io.ReadFull(c, b); err != nil {
		return nil, err
	}
	return cbson.Raw(b[5:]), nil
}

// do runs a well-formed command.
func (c *conn) do(db, cmd string, args ...any) (cbson.Raw, error) {
	n, err := parse(fmt.Sprintf(cmd, args...))
	if err != nil {
		return nil, fmt.Errorf(cmd+": %w", append(args, err)...)
	}
	n.kids = append(n.kids, named("$db", text(db)))
	reply, err := c.exchange(&request{body: n}, time.Minute)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n, err)
	}
	if ok, _ := reply.Get("ok").AsFloat(); ok != 1 {
		return reply, fmt.Errorf("%s: %s", n, ejson.String(reply))
	}
	return reply, nil
}

// login logs in by SCRAM-SHA-256. Spec: RFC 5802, auth.
func (c *conn) login(db, user, password string) error {
	random := make([]byte, 18)
	if _, err := rand.Read(random); err != nil {
		return err
	}
	nonce := base64.StdEncoding.EncodeToString(random)
	payload := func(s string) string {
		return `{$binary: {base64: "` + base64.StdEncoding.EncodeToString([]byte(s)) + `", subType: "00"}}`
	}
	first := "n=" + user + ",r=" + nonce
	reply, err := c.do(db, `{saslStart: 1, mechanism: "SCRAM-SHA-256", payload: %s, options: {skipEmptyExchange: true}}`, payload("n,,"+first))
	if err != nil {
		return err
	}
	_, raw, _ := reply.Get("payload").Binary()
	challenge := string(raw)
	var salt []byte
	rounds, whole := 0, ""
	for part := range strings.SplitSeq(challenge, ",") {
		switch value := part[2:]; part[0] {
		case 'r':
			whole = value
		case 's':
			salt, err = base64.StdEncoding.DecodeString(value)
		case 'i':
			rounds, err = strconv.Atoi(value)
		}
		if err != nil {
			return err
		}
	}
	salted, err := pbkdf2.Key(sha256.New, password, salt, rounds, sha256.Size)
	if err != nil {
		return err
	}
	keyed := func(key []byte, of string) []byte {
		m := hmac.New(sha256.New, key)
		m.Write([]byte(of))
		return m.Sum(nil)
	}
	clientKey := keyed(salted, "Client Key")
	stored := sha256.Sum256(clientKey)
	last := "c=biws,r=" + whole
	proof := keyed(stored[:], first+","+challenge+","+last)
	for i := range proof {
		proof[i] ^= clientKey[i]
	}
	id, _ := reply.Get("conversationId").AsInt64()
	_, err = c.do(db, `{saslContinue: 1, conversationId: %d, payload: %s}`, id, payload(last+",p="+base64.StdEncoding.EncodeToString(proof)))
	return err
}
