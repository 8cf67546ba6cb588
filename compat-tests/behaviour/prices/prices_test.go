package prices

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/ratelimit"
)

var write = flag.Bool("print", false, "print the tables into docs/prices.md")

const page = "../../../docs/prices.md"

// TestPublishedCharges checks that docs/prices.md has every published charge beside the charges of both price lists
// for the same operation. The list mongo-2023 is near to the accounts of this API: of 17 points at least 14 are
// within 20 per cent, and 10 within 10.
func TestPublishedCharges(t *testing.T) {
	lists := ratelimit.PriceLists()
	ours := make([][]float64, len(lists))
	for i, list := range lists {
		ours[i] = charges(t, list)
	}
	tables := deviations(ours) + "\n" + sums(t, ours)
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- prices: printed by compat-tests/behaviour/prices -->\n", "<!-- end -->"
	before, rest, ok := strings.Cut(string(old), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the tables", page)
	}
	made := before + begin + "\n" + tables + "\n" + end + after
	if made == string(old) {
		return
	}
	if !*write {
		t.Fatalf("%s is not what servers charge; go test ./compat-tests/behaviour/prices -print prints it:\n%s", page, tables)
	}
	if err := os.WriteFile(page, []byte(made), 0o644); err != nil {
		t.Fatal(err)
	}
}

// charges returns the charges of a server for all points.
func charges(t *testing.T, list *ratelimit.PriceList) (out []float64) {
	s := harness.Start(t, harness.Options{Args: []string{"--prices", list.Name, "--reply-charge"}})
	client := s.Client(t)
	for i, p := range Points {
		r := &rig{db: client.Database(fmt.Sprintf("p%d", i))}
		out = append(out, p.Run(r))
		if r.err != nil {
			t.Fatalf("%s: %v", p.Operation, r.err)
		}
		r.db.Drop(context.Background())
	}
	return out
}

// deviation returns how far our charge is from the published one, in per cent.
func deviation(ours, published float64) float64 { return (ours/published - 1) * 100 }

func deviations(ours [][]float64) string {
	var b strings.Builder
	b.WriteString("| kind | operation | published | `normative` | | `mongo-2023` | | source |\n|---|---|---|---|---|---|---|---|\n")
	for i, p := range Points {
		fmt.Fprintf(&b, "| %s | %s | %s |", p.Kind, p.Operation, amount(p.Published))
		for _, list := range ours {
			fmt.Fprintf(&b, " %s | %s |", amount(list[i]), percent(deviation(list[i], p.Published)))
		}
		fmt.Fprintf(&b, " %s |\n", p.Source)
	}
	return b.String()
}

func sums(t *testing.T, ours [][]float64) string {
	var b strings.Builder
	b.WriteString("| kind | points | `normative` within 10 % | within 20 % | `mongo-2023` within 10 % | within 20 % | what they are |\n|---|---|---|---|---|---|---|\n")
	for _, k := range Kinds {
		n, near := 0, [2][2]int{}
		for i, p := range Points {
			if p.Kind != k.Kind {
				continue
			}
			n++
			for l := range near {
				for j, most := range []float64{10, 20} {
					if math.Abs(deviation(ours[l][i], p.Published)) <= most {
						near[l][j]++
					}
				}
			}
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %s |\n", k.Kind, n, near[0][0], near[0][1], near[1][0], near[1][1], k.Means)
		if k.Kind == Mongo && (n != 17 || near[1][0] < 10 || near[1][1] < 14) {
			t.Errorf("of %d points of this API %d are within 10 per cent and %d within 20", n, near[1][0], near[1][1])
		}
	}
	return b.String()
}

func amount(x float64) string {
	text := fmt.Sprintf("%.2f", x)
	return strings.TrimSuffix(strings.TrimSuffix(text, "0"), ".0")
}

// percent prints a deviation; minus is a minus sign.
func percent(x float64) string {
	if math.Abs(x) < 0.5 {
		return "0 %"
	}
	return strings.Replace(fmt.Sprintf("%+.0f %%", x), "-", "−", 1)
}
