package console

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// rate writes a rate a second, short: 0.3, 12, 1,240, 38k.
func rate(perSecond float64) string {
	switch {
	case perSecond == 0:
		return "0"
	case perSecond < 0.095:
		return "<0.1"
	case perSecond < 9.95:
		return strings.TrimSuffix(strconv.FormatFloat(perSecond, 'f', 1, 64), ".0")
	case perSecond < 9_999.5:
		return number(uint64(math.Round(perSecond)))
	case perSecond < 999_500:
		return strconv.FormatFloat(perSecond/1e3, 'f', 0, 64) + "k"
	}
	return strconv.FormatFloat(perSecond/1e6, 'f', 1, 64) + "M"
}

// number writes a count with commas.
func number(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// share writes part of whole in percent.
func share(part, whole uint64) string {
	switch p := 100 * float64(part) / float64(max(whole, 1)); {
	case part == 0:
		return "0 %"
	case p < 0.1:
		return "<0.1 %"
	case p < 10:
		return strconv.FormatFloat(p, 'f', 1, 64) + " %"
	case part < whole && p > 99.9:
		return ">99.9 %"
	default:
		return strconv.FormatFloat(p, 'f', 0, 64) + " %"
	}
}

// span writes how long something is, in its two largest units: 45 s, 3 min 20 s, 2 h 5 min, 4 d 3 h.
func span(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	units := []struct {
		name string
		is   time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"min", time.Minute}, {"s", time.Second}}
	for i, unit := range units {
		if d < unit.is {
			continue
		}
		text := fmt.Sprintf("%d %s", d/unit.is, unit.name)
		if i+1 < len(units) {
			if rest := d % unit.is / units[i+1].is; rest > 0 {
				text += fmt.Sprintf(" %d %s", rest, units[i+1].name)
			}
		}
		return text
	}
	return "0 s"
}

// clock writes a time of day, with its day where that is not today.
func clock(now, t time.Time) string {
	if now.Sub(t) > 12*time.Hour || t.Sub(now) > 12*time.Hour {
		return t.Format("Jan 2 15:04")
	}
	return t.Format("15:04:05")
}
