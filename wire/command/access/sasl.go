package access

import (
	"encoding/base64"
	"errors"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// saslState is the login conversation of a connection.
type saslState struct {
	// conversation holds the exchanges so far.
	conversation *auth.Conversation
	// skipEmpty is true if the client does not need a last, empty exchange of the login conversation.
	skipEmpty bool
	verified  bool // only the empty exchange is missing
}

// saslPayloadMax is the maximum number of bytes of a client's login message; usual messages have a few hundred bytes.
const saslPayloadMax = 16 << 10

// conversationID is the ID of every login conversation: a connection has at most one at a time.
const conversationID = 1

// runSaslStart begins a login by SCRAM or by certificate. Manual: reference/command/saslStart.
// Spec: auth (SCRAM). Errors: AuthenticationFailed (18), MechanismUnavailable (334), ProtocolError (17), BadValue (2),
// TypeMismatch (14), InvalidLength (16), IDLFailedToParse (40414).
func (s *State) runSaslStart(c *command.Call) error {
	return s.saslStart(c, c.Body, c.DB, c.Reply, false)
}

// saslStart begins a login with the arguments in body, which come from the command saslStart or from a hello
// (speculative). It appends the server's message to b.
func (s *State) saslStart(c *command.Call, body bson.Raw, db string, b *bson.Builder, speculative bool) error {
	c.ConnState.SASL = nil
	mechanism, payload := body.Get("mechanism"), body.Get("payload")
	if mechanism.IsMissing() {
		return mongoerr.MissingField("saslStart.mechanism")
	}
	name, ok := mechanism.Str()
	if !ok || mechanism.Type != bson.TypeString {
		return mongoerr.WrongType("saslStart.mechanism", mechanism.Type.String(), "string")
	}
	message, err := saslPayload("saslStart", payload)
	if err != nil {
		return err
	}
	m := auth.Mechanism(name)
	if m == auth.X509 {
		return s.x509(c, auth.Name{Name: string(message), DB: db}, speculative)
	}
	if m != auth.ScramSHA1 && m != auth.ScramSHA256 {
		return mongoerr.New(mongoerr.MechanismUnavailable, "Received authentication for mechanism %s which is unknown or not enabled", name)
	}
	s.countAttempt(c, m, speculative)
	login := &saslState{}
	if o, ok := body.Get("options").Doc(); ok {
		login.skipEmpty = o.Get("skipEmptyExchange").Truthy()
	}
	if login.conversation, err = c.Server.Auth.Start(s.users(c), m, db, iterations(c.Server, m)); err != nil {
		return err
	}
	answer, err := login.conversation.Step(message)
	if err != nil {
		return s.loginFailed(c, login.conversation.User, m, err.Error())
	}
	c.ConnState.SASL = login
	appendExchange(b, false, answer)
	return nil
}

// runSaslContinue continues a login. Manual: reference/command/saslContinue.
// Errors: AuthenticationFailed (18), ProtocolError (17), BadValue (2), TypeMismatch (14), InvalidLength (16),
// IDLFailedToParse (40414).
func (s *State) runSaslContinue(c *command.Call) error {
	login := unfinishedLogin(c.ConnState)
	if login == nil {
		return mongoerr.New(mongoerr.ProtocolError, "No SASL session state found")
	}
	id := c.Body.Get("conversationId")
	if id.IsMissing() {
		return mongoerr.MissingField("saslContinue.conversationId")
	}
	if n, ok := id.AsInt64(); !ok || n != conversationID {
		c.ConnState.SASL = nil
		return mongoerr.New(mongoerr.ProtocolError, "Mismatched conversation id")
	}
	message, err := saslPayload("saslContinue", c.Body.Get("payload"))
	if err != nil {
		return err
	}
	if login.verified {
		c.ConnState.SASL = nil
		if len(message) > 0 {
			return mongoerr.New(mongoerr.ProtocolError, "The conversation is over")
		}
		if err := s.logIn(c, login.conversation.Found, login.conversation.Mechanism); err != nil {
			return err
		}
		appendExchange(c.Reply, true, nil)
		return nil
	}
	c.ConnState.SASL = nil
	var answer []byte
	u, err := s.checkProof(c, login.conversation.User, login.conversation.Mechanism, func() (*auth.User, string) {
		var err error
		answer, err = login.conversation.Step(message)
		switch {
		case err == nil:
			return login.conversation.Found, ""
		case errors.Is(err, auth.ErrProof), login.conversation.Found != nil:
			return nil, err.Error()
		}
		return nil, "there is no such user, or it cannot log in this way"
	})
	if err != nil {
		return err
	}
	if !login.skipEmpty {
		c.ConnState.SASL = login
		login.verified = true
		appendExchange(c.Reply, false, answer)
		return nil
	}
	if err := s.logIn(c, u, login.conversation.Mechanism); err != nil {
		return err
	}
	appendExchange(c.Reply, true, answer)
	return nil
}

// saslPayload reads a message: bytes, or their base64.
func saslPayload(command string, v bson.Value) ([]byte, error) {
	if v.IsMissing() {
		return nil, mongoerr.MissingField(command + ".payload")
	}
	_, p, ok := v.Binary()
	if !ok {
		s, isText := v.Str()
		if !isText || v.Type != bson.TypeString {
			return nil, mongoerr.WrongType(command+".payload", v.Type.String(), "binData", "string")
		}
		var err error
		if p, err = base64.StdEncoding.DecodeString(s); err != nil {
			return nil, mongoerr.New(mongoerr.BadValue, "The payload is not base64")
		}
	}
	if len(p) > saslPayloadMax {
		return nil, mongoerr.New(mongoerr.InvalidLength, "A message of a login may have at most %d bytes, not %d", saslPayloadMax, len(p))
	}
	return p, nil
}

// appendExchange appends the answer to a message of the client.
func appendExchange(b *bson.Builder, done bool, payload []byte) {
	b.Int32("conversationId", conversationID)
	b.Bool("done", done)
	b.Binary("payload", 0, payload)
}

// Speculate runs the first step of a login that a client sends along with a hello, which saves a round trip. If this
// step fails, the reply does not mention it, and the client logs in with separate commands.
// Spec: auth (speculative authentication).
func (s *State) Speculate(c *command.Call, v bson.Value) {
	body, ok := v.Doc()
	if !ok {
		return
	}
	first, ok := body.First()
	if !ok {
		return
	}
	db, _ := body.Get("db").Str()
	b := bson.NewBuilder(nil)
	var err error
	switch string(first.Name) {
	case "saslStart":
		err = s.saslStart(c, body, db, b, true)
		if login := unfinishedLogin(c.ConnState); login != nil && login.conversation.OtherMechanisms {
			// The client guessed a login mechanism that this user does not have; the reply lists the mechanisms of
			// the user.
			c.ConnState.SASL = nil
			return
		}
	case "authenticate":
		var n auth.Name
		n.Name, _ = body.Get("user").Str()
		if n.DB = db; db == "" {
			n.DB = auth.External
		}
		if m, _ := body.Get("mechanism").Str(); m != string(auth.X509) {
			return
		}
		if err = s.x509(c, n, true); err == nil {
			appendAuthenticated(b, c.ConnState.Login.Name)
		}
	default:
		return
	}
	if err == nil {
		c.Reply.Raw("speculativeAuthenticate", b.Doc())
	}
}

// appendAuthenticated appends the name and database of a user that has logged in with a certificate.
func appendAuthenticated(b *bson.Builder, n auth.Name) {
	b.String("dbname", n.DB)
	b.String("user", n.Name)
}

// AppendMechanisms appends the login mechanisms of a user to a hello with saslSupportedMechs. For a user that does
// not exist it lists both SCRAM mechanisms, and for any user of $external X.509, so that the reply does not reveal
// which users exist.
// Manual: reference/command/hello (saslSupportedMechs).
func (s *State) AppendMechanisms(c *command.Call, name auth.Name) {
	s.logins.mechanismQueries.Add(1)
	list := []auth.Mechanism{auth.ScramSHA1, auth.ScramSHA256}
	if u := s.loginUser(c, name); u != nil && name.DB != auth.External {
		list = u.Mechanisms()
	}
	c.Reply.BeginArray("saslSupportedMechs")
	if name.DB == auth.External {
		list = []auth.Mechanism{auth.X509}
	}
	for _, m := range list {
		c.Reply.String("", string(m))
	}
	c.Reply.End()
}

// unfinishedLogin returns the unfinished login of a connection, nil if there is none.
func unfinishedLogin(p *command.ConnState) *saslState {
	s, _ := p.SASL.(*saslState)
	return s
}
