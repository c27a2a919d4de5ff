package report

import (
	"math"
	"strconv"
	"strings"
)

// picture is one drawing: paths and texts in the coordinates of an SVG of W by H pixels. The page's template writes it,
// and escapes its texts.
type picture struct {
	ID, Class   string
	Title, Desc string
	W, H        float64
	Marks       []mark
}

// mark is a path if D is set, else a text.
type mark struct {
	Class, D string
	X, Y     float64
	Anchor   string // of a text: "" is its start
	Text     string
}

// Every picture is drawn twice, and the page shows the one that fits: texts keep a size that can be read.
const (
	wide   = 660
	narrow = 340
)

func newPicture(width, height float64) *picture {
	class := "wide"
	if width == narrow {
		class = "narrow"
	}
	return &picture{Class: class, W: width, H: height}
}

// Across and Down are the size of the picture as a file, which has a margin.
func (p *picture) Across() float64 { return p.W + 32 }
func (p *picture) Down() float64   { return p.H + 20 }

func (p *picture) narrow() bool { return p.W == narrow }

func (p *picture) path(class, d string) {
	if d != "" {
		p.Marks = append(p.Marks, mark{Class: class, D: d})
	}
}

func (p *picture) text(class, anchor string, x, y float64, text string) {
	p.Marks = append(p.Marks, mark{Class: class, X: round(x), Y: round(y), Anchor: anchor, Text: text})
}

// round keeps a tenth of a pixel, which nobody sees, so that a page of many pictures stays small.
func round(v float64) float64 { return math.Round(v*10) / 10 }

// pen writes the commands of an SVG path.
type pen struct{ b strings.Builder }

func (p *pen) do(command byte, values ...float64) *pen {
	p.b.WriteByte(command)
	for i, v := range values {
		if i > 0 {
			p.b.WriteByte(' ')
		}
		p.b.WriteString(strconv.FormatFloat(round(v), 'f', -1, 64))
	}
	return p
}

func (p *pen) rect(x, y, w, h float64) *pen {
	return p.do('M', x, y).do('h', w).do('v', h).do('h', -w).do('z')
}

func (p *pen) line(x1, y1, x2, y2 float64) *pen { return p.do('M', x1, y1).do('L', x2, y2) }

func (p *pen) disc(x, y, r float64) *pen {
	return p.do('M', x-r, y).do('a', r, r, 0, 1, 0, 2*r, 0).do('a', r, r, 0, 1, 0, -2*r, 0).do('z')
}

func (p *pen) diamond(x, y, r float64) *pen {
	return p.do('M', x, y-r).do('l', r, r).do('l', -r, r).do('l', -r, -r).do('z')
}

func (p *pen) String() string { return p.b.String() }

// textWidth estimates how wide a text is in the font of the pictures, 12 pixels high.
func textWidth(text string) float64 { return 6.6 * float64(len([]rune(text))) }
