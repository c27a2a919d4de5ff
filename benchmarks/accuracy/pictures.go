package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// draw writes the pictures of docs/algorithms.md.
func draw(t *testing.T, folder string) error {
	for name, picture := range map[string]func(*testing.T) string{
		"algorithms-adversary.svg": adversaryPicture, "algorithms-share.svg": sharePicture,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(picture(t)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// drawn are the algorithms in the order of the table in docs/algorithms.md.
var drawn = []limiter.Algorithm{
	limiter.SlidingWindow, limiter.StrictWindow, limiter.SlidingLog, limiter.FixedWindow, limiter.TokenBucket,
}

var titles = map[limiter.Algorithm]string{
	limiter.FixedWindow: "FixedWindow", limiter.SlidingWindow: "SlidingWindow", limiter.TokenBucket: "TokenBucket",
	limiter.SlidingLog: "SlidingLog", limiter.StrictWindow: "StrictWindow",
}

const (
	svgStart = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" ` +
		`role="img"><title>%s</title><rect width="100%%" height="100%%" fill="#fff"/>` + "\n"
	labelWidth = 110
	plotWidth  = 560
)

// adversaryPicture shows how many units lie within the window that ends at each moment, of a client that comes at the
// end of a window and then always asks.
func adversaryPicture(t *testing.T) string {
	const (
		windows, rowHeight = 3, 84
		scale              = 30.0 // pixels for the limit
		every              = window / 60
	)
	var b strings.Builder
	height := len(drawn)*rowHeight + 30
	fmt.Fprintf(&b, svgStart, labelWidth+plotWidth+60, height,
		"Units within the window that ends at each moment, of a client that comes late and then always asks")
	x := func(at time.Duration) float64 { return labelWidth + plotWidth*at.Seconds()/(windows*window).Seconds() }
	for i, algorithm := range drawn {
		bottom := float64((i + 1) * rowHeight)
		var path []string
		most := 0
		inside := own(algorithm)(limit, window)
		bubble(t, func() {
			take := inside()
			time.Sleep(time.Until(time.Now().Truncate(window).Add(2 * window)))
			j, start := newJudge(limit, window), time.Now()
			for at := time.Duration(0); at <= windows*window; at += every / 4 {
				time.Sleep(time.Until(start.Add(at)))
				for n := 0; at >= window-2*time.Second && n < 2*limit; n++ {
					allowed := take("client")
					j.saw(at, "client", allowed)
					if !allowed {
						break
					}
				}
				most = max(most, j.within(at, "client"))
				path = append(path, fmt.Sprintf("%.1f,%.1f", x(at), bottom-scale*float64(j.within(at, "client"))/limit))
			}
		})
		fmt.Fprintf(&b, `<text x="4" y="%.0f">%s</text>`, bottom-scale+4, titles[algorithm])
		fmt.Fprintf(&b, `<polyline fill="#cfe0f5" stroke="#1f5fa8" points="%s %.1f,%.1f %.1f,%.1f"/>`,
			strings.Join(path, " "), x(windows*window), bottom, x(0), bottom)
		fmt.Fprintf(&b, `<path stroke="#b00020" stroke-dasharray="5 3" d="M%.1f %.1fH%.1f"/>`, x(0), bottom-scale,
			x(windows*window))
		fmt.Fprintf(&b, `<text x="%d" y="%.0f" fill="#b00020">limit</text>`, labelWidth+plotWidth+6, bottom-scale+4)
		fmt.Fprintf(&b, `<text x="%d" y="%.0f">%.2f L</text>`, labelWidth+plotWidth+6, bottom-scale-14,
			float64(most)/limit)
		b.WriteString("\n")
	}
	for w := range windows + 1 {
		fmt.Fprintf(&b, `<path stroke="#999" stroke-width="0.5" d="M%.1f 8V%d"/>`, x(time.Duration(w)*window), height-24)
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%d W</text>`, x(time.Duration(w)*window), height-8, w)
	}
	b.WriteString("\n</svg>\n")
	return b.String()
}

// sharePicture shows what share of its requests three well-behaved clients get, none of whom asks for more than the
// limit within any window.
func sharePicture(t *testing.T) string {
	const windows, rowHeight = 20, 22
	span := windows * window
	scenarios := []scenario{
		{"the limit, evenly", steady(span, 1)},
		{"60 % of the limit, all at once", cron(span, 0.4)},
		{"the limit, all at once", cron(span, 0)},
	}
	var b strings.Builder
	block := (len(drawn) + 1) * rowHeight
	fmt.Fprintf(&b, svgStart, labelWidth+plotWidth+60, len(scenarios)*block+10,
		"What share of their requests clients get who never ask for more than the limit")
	for i, s := range scenarios {
		top := i * block
		fmt.Fprintf(&b, `<text x="4" y="%d" font-weight="bold">In each window %s</text>`+"\n", top+18, s.name)
		for row, algorithm := range drawn {
			inside := own(algorithm)(limit, window)
			var got figures
			bubble(t, func() { got = replay(inside(), s.requests, limit, window) })
			share := float64(got.admitted) / float64(got.requests)
			y := top + (row+1)*rowHeight + 4
			fmt.Fprintf(&b, `<text x="4" y="%d">%s</text>`, y+13, titles[algorithm])
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%.1f" height="16" fill="#1f5fa8"/>`, labelWidth, y, plotWidth*share)
			fmt.Fprintf(&b, `<text x="%.1f" y="%d">%.3g %%</text>`+"\n", labelWidth+plotWidth*share+6, y+13, 100*share)
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}
