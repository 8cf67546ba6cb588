package ejson

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// parser rewrites shell notation to strict Extended JSON.
type parser struct {
	in  string
	pos int
	out []byte
}

const maxNesting = 1000

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("column %d of %.60q: %s", p.pos+1, p.in, fmt.Sprintf(format, args...))
}

func (p *parser) space() {
	for p.pos < len(p.in) && strings.IndexByte(" \t\r\n", p.in[p.pos]) >= 0 {
		p.pos++
	}
}

func (p *parser) peek() byte {
	if p.pos < len(p.in) {
		return p.in[p.pos]
	}
	return 0
}

func (p *parser) value(depth int) error {
	if depth > maxNesting {
		return p.errorf("nesting too deep")
	}
	p.space()
	switch c := p.peek(); {
	case c == '{':
		return p.members('}', depth, true)
	case c == '[':
		return p.members(']', depth, false)
	case c == '"' || c == '\'':
		s, err := p.quoted()
		p.text(s)
		return err
	case c == '/':
		return p.regex()
	case c == '-' || c == '+' || c >= '0' && c <= '9' || c == '.':
		return p.number()
	}
	return p.word()
}

// members copies an object or array, quoting names.
func (p *parser) members(end byte, depth int, named bool) error {
	p.out = append(p.out, p.in[p.pos])
	p.pos++
	for first := true; ; first = false {
		p.space()
		if p.peek() == end {
			p.pos++
			p.out = append(p.out, end)
			return nil
		}
		if !first {
			p.out = append(p.out, ',')
		}
		if named {
			if err := p.name(); err != nil {
				return err
			}
		}
		if err := p.value(depth + 1); err != nil {
			return err
		}
		p.space()
		switch p.peek() {
		case ',':
			p.pos++
		case end:
		default:
			return p.errorf("expected , or %c", end)
		}
	}
}

func (p *parser) name() (err error) {
	var s string
	if c := p.peek(); c == '"' || c == '\'' {
		if s, err = p.quoted(); err != nil {
			return err
		}
	} else if s = p.ident(); s == "" {
		return p.errorf("expected a field name")
	}
	p.space()
	if p.peek() != ':' {
		return p.errorf("expected : after %q", s)
	}
	p.pos++
	p.text(s)
	p.out = append(p.out, ':')
	return nil
}

func (p *parser) ident() string {
	start := p.pos
	for p.pos < len(p.in) {
		c := p.in[p.pos]
		if c == '_' || c == '$' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 {
			p.pos++
			continue
		}
		break
	}
	return p.in[start:p.pos]
}

func (p *parser) text(s string) {
	b, _ := json.Marshal(s)
	p.out = append(p.out, b...)
}

func (p *parser) quoted() (string, error) {
	q := p.in[p.pos]
	start := p.pos
	for p.pos++; p.pos < len(p.in); p.pos++ {
		switch p.in[p.pos] {
		case '\\':
			p.pos++
		case q:
			body := p.in[start+1 : p.pos]
			p.pos++
			if q == '\'' {
				body = strings.ReplaceAll(strings.ReplaceAll(body, `\'`, `'`), `"`, `\"`)
			}
			var s string
			if err := json.Unmarshal([]byte(`"`+body+`"`), &s); err != nil {
				return "", p.errorf("%v", err)
			}
			return s, nil
		}
	}
	return "", p.errorf("string without end")
}

func (p *parser) regex() error {
	start := p.pos + 1
	for p.pos++; p.pos < len(p.in) && p.in[p.pos] != '/'; p.pos++ {
		if p.in[p.pos] == '\\' {
			p.pos++
		}
	}
	if p.pos >= len(p.in) {
		return p.errorf("regular expression without end")
	}
	pattern := p.in[start:p.pos]
	p.pos++
	p.out = append(p.out, `{"$regularExpression":{"pattern":`...)
	p.text(pattern)
	p.out = append(p.out, `,"options":`...)
	p.text(p.ident())
	p.out = append(p.out, "}}"...)
	return nil
}

func (p *parser) number() error {
	start := p.pos
	if c := p.peek(); c == '-' || c == '+' {
		p.pos++
	}
	if strings.HasPrefix(p.in[p.pos:], "Infinity") {
		p.pos += len("Infinity")
	} else {
		for p.pos < len(p.in) && strings.IndexByte("0123456789.eE+-", p.in[p.pos]) >= 0 {
			p.pos++
		}
	}
	s := strings.TrimPrefix(p.in[start:p.pos], "+")
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && s != "-0" {
		p.out = strconv.AppendInt(p.out, n, 10)
		return nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return p.errorf("%q is not a number", s)
	}
	return p.wrap("$numberDouble", formatDouble(f, s))
}

func formatDouble(f float64, s string) string {
	if strings.HasSuffix(s, "Infinity") {
		return s
	}
	return strconv.FormatFloat(f, 'G', -1, 64)
}

func (p *parser) wrap(tag, text string) error {
	p.out = append(p.out, '{')
	p.text(tag)
	p.out = append(p.out, ':')
	p.text(text)
	p.out = append(p.out, '}')
	return nil
}

// word handles literals and constructors.
func (p *parser) word() error {
	w := p.ident()
	if w == "new" {
		p.space()
		w = p.ident()
	}
	switch w {
	case "true", "false", "null":
		p.out = append(p.out, w...)
		return nil
	case "undefined":
		p.out = append(p.out, `{"$undefined":true}`...)
		return nil
	case "NaN", "Infinity":
		return p.wrap("$numberDouble", w)
	case "MinKey", "MaxKey":
		if p.peek() == '(' {
			if _, err := p.args(); err != nil {
				return err
			}
		}
		p.out = append(p.out, `{"$`+strings.ToLower(w[:1])+w[1:]+`":1}`...)
		return nil
	case "":
		return p.errorf("expected a value")
	}
	args, err := p.args()
	if err != nil {
		return err
	}
	return p.construct(w, args)
}

func (p *parser) args() ([]string, error) {
	if p.peek() != '(' {
		return nil, p.errorf("expected (")
	}
	p.pos++
	var args []string
	for {
		p.space()
		switch c := p.peek(); {
		case c == ')':
			p.pos++
			return args, nil
		case c == ',':
			p.pos++
		case c == '"' || c == '\'':
			s, err := p.quoted()
			if err != nil {
				return nil, err
			}
			args = append(args, s)
		default:
			start := p.pos
			for p.pos < len(p.in) && strings.IndexByte(",)", p.in[p.pos]) < 0 {
				p.pos++
			}
			if p.pos >= len(p.in) {
				return nil, p.errorf("expected )")
			}
			args = append(args, strings.TrimSpace(p.in[start:p.pos]))
		}
	}
}

func (p *parser) construct(name string, args []string) error {
	want := 1
	if name == "Timestamp" || name == "BinData" {
		want = 2
	}
	if len(args) != want {
		return p.errorf("%s takes %d arguments", name, want)
	}
	switch name {
	case "ObjectId":
		return p.wrap("$oid", args[0])
	case "NumberLong", "Long":
		return p.wrap("$numberLong", args[0])
	case "NumberInt", "Int32":
		return p.wrap("$numberInt", args[0])
	case "Double":
		return p.wrap("$numberDouble", args[0])
	case "NumberDecimal", "Decimal128":
		return p.wrap("$numberDecimal", args[0])
	case "Symbol":
		return p.wrap("$symbol", args[0])
	case "Code":
		return p.wrap("$code", args[0])
	case "ISODate", "Date":
		s := args[0]
		if len(s) == len("2006-01-02") {
			s += "T00:00:00Z"
		}
		return p.wrap("$date", s)
	case "Timestamp":
		p.out = append(p.out, `{"$timestamp":{"t":`+args[0]+`,"i":`+args[1]+`}}`...)
		return nil
	case "BinData":
		n, err := strconv.Atoi(args[0])
		if err != nil {
			return p.errorf("%v", err)
		}
		p.out = append(p.out, fmt.Sprintf(`{"$binary":{"base64":%q,"subType":"%02x"}}`, args[1], n)...)
		return nil
	case "UUID":
		b, err := hex.DecodeString(strings.ReplaceAll(args[0], "-", ""))
		if err != nil {
			return p.errorf("%v", err)
		}
		p.out = append(p.out, fmt.Sprintf(`{"$binary":{"base64":%q,"subType":"04"}}`, base64.StdEncoding.EncodeToString(b))...)
		return nil
	}
	return p.errorf("unknown name %s", name)
}
