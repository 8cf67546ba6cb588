package ejson

import (
	"encoding/json"
	"errors"
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

// Lengths of the text that an error quotes, in bytes: before its place, and together.
const (
	quotedBefore = 40
	quotedMax    = 60
)

// errorf returns an error at the current place. It quotes the text around the place, and has the line if the text has
// several.
func (p *parser) errorf(format string, args ...any) error {
	lines := strings.Count(p.in[:p.pos], "\n")
	column := p.pos - (strings.LastIndexByte(p.in[:p.pos], '\n') + 1) + 1
	from := 0
	if p.pos > quotedMax {
		from = p.pos - quotedBefore
	}
	place := fmt.Sprintf("column %d of %q", column, strings.ToValidUTF8(p.in[from:min(len(p.in), from+quotedMax)], ""))
	if lines > 0 {
		place = fmt.Sprintf("line %d, %s", lines+1, place)
	}
	return fmt.Errorf("%s: %w", place, fmt.Errorf(format, args...))
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
	start := p.pos
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
			if args, err := p.args(); err != nil || len(args) > 0 {
				return p.errorf("%s takes no arguments", w)
			}
		}
		p.out = append(p.out, `{"$`+strings.ToLower(w[:1])+w[1:]+`":1}`...)
		return nil
	case "":
		return p.errorf("expected a value")
	}
	known, ok := constructors[w]
	if !ok || p.peek() != '(' {
		p.pos = start
		if ok {
			return p.errorf("%s needs arguments, as in %s", w, known.example)
		}
		return p.errorf("%s is not a value; a text needs quotes, and the types are %s", w, constructorNames())
	}
	if w == "Timestamp" && strings.HasPrefix(strings.TrimLeft(p.in[p.pos+1:], " "), "{") {
		return p.timestampOfDocument()
	}
	args, err := p.args()
	if err == nil && (len(args) < known.least || len(args) > max(known.least, known.most)) {
		err = fmt.Errorf("the number of arguments is %d", len(args))
	}
	if err == nil {
		err = known.write(p, args)
	}
	if err != nil {
		p.pos = start
		return p.errorf("%s: %w, as in %s", w, err, known.example)
	}
	return nil
}

// timestampOfDocument reads Timestamp({t: 1, i: 2}), from the parenthesis on.
func (p *parser) timestampOfDocument() error {
	p.pos++
	p.out = append(p.out, `{"$timestamp":`...)
	if err := p.value(0); err != nil {
		return err
	}
	if p.space(); p.peek() != ')' {
		return p.errorf("expected )")
	}
	p.pos++
	p.out = append(p.out, '}')
	return nil
}

// argument is an argument of a constructor, without its quotes.
type argument struct {
	text   string
	quoted bool
}

// args reads the arguments of a constructor, from the parenthesis on.
func (p *parser) args() ([]argument, error) {
	p.pos++
	var args []argument
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
			args = append(args, argument{s, true})
		default:
			start := p.pos
			for p.pos < len(p.in) && strings.IndexByte(",)", p.in[p.pos]) < 0 {
				p.pos++
			}
			if p.pos >= len(p.in) {
				return nil, errors.New("the closing parenthesis is missing")
			}
			args = append(args, argument{strings.TrimSpace(p.in[start:p.pos]), false})
		}
	}
}
