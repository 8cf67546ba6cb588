package records

import (
	"bufio"
	"encoding/base32"
	"encoding/base64"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
)

// Table configures how lines become documents.
type Table struct {
	Header, Typed bool
	IgnoreBlanks  bool
	Grace         string // stop, autoCast, skipField, skipRow
	columns       []column
	lineMax       int // bytes; 0 is textMax
}

// column is one field of a table.
type column struct {
	path []string
	kind string
	arg  string
}

// ColumnsOf sets the columns of the table from their names, which may contain types, as in "price.double()".
// Errors: unknown types; names that conflict.
func (a *Table) ColumnsOf(names []string) error {
	seen := map[string]bool{}
	inside := map[string]string{} // from a field to a column inside of it
	for _, name := range names {
		name = strings.TrimSpace(name)
		c := column{kind: "auto"}
		if a.Typed {
			open := strings.LastIndexByte(name, '(')
			dot := strings.LastIndexByte(name[:max(open, 0)], '.')
			if open < 0 || dot < 0 || !strings.HasSuffix(name, ")") {
				return fmt.Errorf("column %q has no type, as in stock.int32()", name)
			}
			c.kind, c.arg = name[dot+1:open], name[open+1:len(name)-1]
			name = name[:dot]
			if _, err := c.value("", true); errors.Is(err, errKind) {
				return fmt.Errorf("column %q: %w", name, err)
			}
		}
		if name == "" || seen[name] {
			return fmt.Errorf("two columns are called %q", name)
		}
		if inner := inside[name]; inner != "" {
			return fmt.Errorf("column %q lies inside of column %q", inner, name)
		}
		for prefix := name; ; {
			i := strings.LastIndexByte(prefix, '.')
			if i < 0 {
				break
			}
			if prefix = prefix[:i]; seen[prefix] {
				return fmt.Errorf("column %q lies inside of column %q", name, prefix)
			}
			inside[prefix] = name
		}
		seen[name] = true
		c.path = strings.Split(name, ".")
		a.columns = append(a.columns, c)
	}
	return nil
}

var errKind = errors.New("there is no such type")

// value converts the text of a table's cell to a value of the column's type. If probe is set, it only checks that the
// type exists.
// Errors: errKind; a text that is not of the type.
func (c *column) value(text string, probe bool) (bson.Value, error) {
	b := bson.NewBuilder(nil)
	var err error
	switch c.kind {
	case "auto":
		return automatic(text), nil
	case "string":
		b.String("v", text)
	case "int32":
		var n int64
		n, err = strconv.ParseInt(text, 10, 32)
		b.Int32("v", int32(n))
	case "int64":
		var n int64
		n, err = strconv.ParseInt(text, 10, 64)
		b.Int64("v", n)
	case "double":
		var f float64
		f, err = strconv.ParseFloat(text, 64)
		b.Double("v", f)
	case "decimal":
		if probe {
			break
		}
		quoted, _ := json.Marshal(text)
		return ejson.ParseValue(`{"$numberDecimal":` + string(quoted) + `}`)
	case "boolean":
		var v bool
		switch strings.ToLower(text) {
		case "true", "t", "yes", "y", "1":
			v = true
		case "false", "f", "no", "n", "0":
		default:
			err = fmt.Errorf("%q is not true or false", text)
		}
		b.Bool("v", v)
	case "binary":
		var p []byte
		switch c.arg {
		case "hex":
			p, err = hex.DecodeString(text)
		case "base32":
			p, err = base32.StdEncoding.DecodeString(text)
		case "base64":
			p, err = base64.StdEncoding.DecodeString(text)
		default:
			return bson.Value{}, fmt.Errorf("%w: binary(%s); it is hex, base32 or base64", errKind, c.arg)
		}
		b.Binary("v", 0, p)
	case "date", "date_go":
		var at time.Time
		at, err = time.Parse(c.arg, text)
		b.DateTime("v", at.UnixMilli())
	default:
		return bson.Value{}, fmt.Errorf("%w: %s()", errKind, c.kind)
	}
	if err != nil {
		return bson.Value{}, err
	}
	return b.Doc().Get("v"), nil
}

// automatic converts the text of a cell whose column has no type: to a number if it looks like one, otherwise to a
// string.
func automatic(text string) bson.Value {
	b := bson.NewBuilder(nil)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n >= math.MinInt32 && n <= math.MaxInt32 {
			b.Int32("v", int32(n))
		} else {
			b.Int64("v", n)
		}
		return b.Doc().Get("v")
	}
	// Not Inf and NaN, which are words, nor 0x1p-2.
	if f, err := strconv.ParseFloat(text, 64); err == nil && !strings.ContainsAny(text, "xXiInN_") {
		b.Double("v", f)
		return b.Doc().Get("v")
	}
	b.String("v", text)
	return b.Doc().Get("v")
}

// tableRecords reads lines of columns.
type tableRecords struct {
	*Table
	csv   *csv.Reader   // for CSV
	tsv   *bufio.Reader // for TSV, which has no quotes
	limit *recordLimit  // of the input of csv
	lines int           // of TSV, read so far
}

// NewTable returns a Reader that makes a document of each line of a table, whose fields are separated by comma (a tab
// for TSV).
// Errors: a first line that does not name the columns.
func NewTable(in *bufio.Reader, comma rune, a *Table) (Reader, error) {
	if a.lineMax == 0 {
		a.lineMax = textMax
	}
	t := &tableRecords{Table: a}
	if comma == '\t' {
		t.tsv = in
	} else {
		t.limit = &recordLimit{in: in, max: a.lineMax}
		t.csv = csv.NewReader(t.limit)
		t.csv.FieldsPerRecord = -1
	}
	if a.Header {
		names, err := t.line()
		if err != nil {
			return nil, fmt.Errorf("the header: %w", err)
		}
		names[0] = strings.TrimPrefix(names[0], "\ufeff")
		if err := a.ColumnsOf(names); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// line returns the cells of the next line.
// Errors: io.EOF; a wrong or missing quote, by its line; a line that is too long; errors of the input.
func (t *tableRecords) line() ([]string, error) {
	if t.csv != nil {
		t.limit.read = 0
		cells, err := t.csv.Read()
		return cells, quoteError(err)
	}
	for {
		text, err := t.tsvLine()
		if err != nil {
			return nil, err
		}
		if text != "" {
			return strings.Split(text, "\t"), nil
		}
	}
}

func (t *tableRecords) Next() (bson.Raw, error) {
	cells, err := t.line()
	if err != nil {
		return nil, err
	}
	root := &branch{}
	for i, text := range cells {
		if t.IgnoreBlanks && text == "" {
			continue
		}
		c := column{path: []string{fmt.Sprintf("field%d", i)}, kind: "auto"} // more cells than names
		if i < len(t.columns) {
			c = t.columns[i]
		}
		v, err := c.value(text, false)
		if err != nil {
			switch t.Grace {
			case "autoCast":
				v = automatic(text)
			case "skipField":
				continue
			case "skipRow":
				return nil, ErrSkipped
			default:
				return nil, fmt.Errorf("column %s: %w", strings.Join(c.path, "."), err)
			}
		}
		root.put(c.path, v)
	}
	b := bson.NewBuilder(nil)
	root.write(b)
	return b.Doc(), nil
}

// branch is a document that grows by paths.
type branch struct {
	names  []string
	values []bson.Value
	inner  []*branch // nil for values
}

func (d *branch) put(path []string, v bson.Value) {
	if len(path) > 1 {
		for i, name := range d.names {
			if name == path[0] && d.inner[i] != nil {
				d.inner[i].put(path[1:], v)
				return
			}
		}
	}
	d.names = append(d.names, path[0])
	if len(path) == 1 {
		d.values, d.inner = append(d.values, v), append(d.inner, nil)
		return
	}
	deeper := &branch{}
	d.values, d.inner = append(d.values, bson.Value{}), append(d.inner, deeper)
	deeper.put(path[1:], v)
}

func (d *branch) write(b *bson.Builder) {
	for i, name := range d.names {
		if d.inner[i] == nil {
			b.Value(name, d.values[i])
			continue
		}
		b.BeginDoc(name)
		d.inner[i].write(b)
		b.End()
	}
}
