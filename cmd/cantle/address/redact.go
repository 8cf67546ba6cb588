package address

import (
	"net/url"
	"strings"
)

// shownOptions are the options of a connection string whose values are no secrets, in lower case. The values of all
// others are hidden: a new option of a driver is a secret until it is listed here.
var shownOptions = map[string]bool{
	"appname": true, "authmechanism": true, "authsource": true, "compressors": true, "connect": true, "connecttimeoutms": true,
	"directconnection": true, "heartbeatfrequencyms": true, "journal": true, "loadbalanced": true, "localthresholdms": true, "maxconnecting": true,
	"maxidletimems": true, "maxpoolsize": true, "maxstalenessseconds": true, "minpoolsize": true, "readconcernlevel": true, "readpreference": true,
	"readpreferencetags": true, "replicaset": true, "retryreads": true, "retrywrites": true, "servermonitoringmode": true,
	"serverselectiontimeoutms": true, "sockettimeoutms": true, "srvmaxhosts": true, "srvservicename": true, "ssl": true,
	"sslcertificateauthorityfile": true, "sslclientcertificatekeyfile": true, "sslinsecure": true, "timeoutms": true, "tls": true,
	"tlsallowinvalidcertificates": true, "tlsallowinvalidhostnames": true, "tlscafile": true, "tlscertificatefile": true, "tlscertificatekeyfile": true,
	"tlsdisablecertificaterevocationcheck": true, "tlsdisableocspendpointcheck": true, "tlsinsecure": true, "tlsprivatekeyfile": true, "w": true,
	"wtimeoutms": true, "zlibcompressionlevel": true, "zstdcompressionlevel": true,
}

// option is a part of a connection string behind its question mark.
type option struct{ text, name, value string }

// shown reports whether the option has no secret.
func (o *option) shown() bool { return shownOptions[strings.ToLower(o.name)] }

// optionsOf returns the options of the query of a connection string.
func optionsOf(query string) (out []option) {
	for _, text := range strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(text, "=")
		out = append(out, option{text, name, value})
	}
	return out
}

// split divides a connection string. authority has the user, the password and the hosts, path the database.
func split(uri string) (scheme, authority, path, query string) {
	if before, after, ok := strings.Cut(uri, "://"); ok {
		scheme, uri = before+"://", after
	}
	end := strings.IndexAny(uri, "/?#")
	if end < 0 {
		return scheme, uri, "", ""
	}
	path, query, _ = strings.Cut(uri[end:], "?")
	return scheme, uri[:end], path, query
}

// Redact returns a connection string without its secrets: user, password, and the values of options that are not known
// to be none. If a part of a password can be anywhere in it, because the password has characters that should be
// escaped, only the scheme stays.
func Redact(uri string) string {
	scheme, authority, path, query := split(uri)
	at := strings.LastIndexByte(authority, '@')
	hidden := scheme + "***"
	if strings.Contains(path, "@") {
		return hidden
	}
	out := scheme + authority + path
	if at >= 0 {
		out = hidden + authority[at:] + path
	}
	mark := "?"
	for _, o := range optionsOf(query) {
		switch {
		case strings.Contains(o.text, "@") && (at < 0 || !o.shown()):
			return hidden
		case o.shown():
			out += mark + o.text
		case o.value != "":
			out += mark + o.name + "=***"
		default:
			out += mark + "***"
		}
		mark = "&"
	}
	return out
}

// secretLeast is the minimum length of a text that WithoutSecrets hides, in bytes: a shorter one is part of many words.
const secretLeast = 3

// WithoutSecrets returns an error about a connection string without the string's secrets, which some errors of the
// driver quote. If err has none, it returns err.
func WithoutSecrets(uri string, err error) error {
	if err == nil {
		return nil
	}
	_, authority, _, query := split(uri)
	var secrets []string
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		_, password, _ := strings.Cut(authority[:at], ":")
		secrets = append(secrets, password)
	}
	for _, o := range optionsOf(query) {
		if !o.shown() {
			secrets = append(secrets, o.value)
			if _, inner, ok := strings.Cut(o.value, ":"); ok { // a property of authMechanismProperties
				secrets = append(secrets, inner)
			}
		}
	}
	text := strings.ReplaceAll(err.Error(), uri, Redact(uri))
	for _, s := range secrets {
		plain, _ := url.QueryUnescape(s)
		for _, s := range []string{s, plain} {
			if len(s) >= secretLeast {
				text = strings.ReplaceAll(text, s, "***")
			}
		}
	}
	if text == err.Error() {
		return err
	}
	return &redactedError{text, err}
}

// redactedError is an error without the secrets in its text.
type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string { return e.text }

func (e *redactedError) Unwrap() error { return e.err }
